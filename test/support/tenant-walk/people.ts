/**
 * The walk of people who have signed in with GitHub. An admin of an organization makes the same requests
 * as a token of it, and must get the same responses, by a session and by an OAuth token of a client. A
 * member of two organizations sees both, and a member who is not an admin changes nothing but the inbox.
 */
import type { FakeGithub } from "../fake-github.ts";
import { signInWithGithub } from "../github-sign-in.ts";
import { connectClient, createOAuthBrowser } from "../oauth-browser.ts";
import type { WalkedRequest } from "./generate.ts";
import { type Credential, type HubRequest, rpc, send } from "./hub-client.ts";
import { memberRequests } from "./member-requests.ts";
import { walkOwnIds } from "./own-data.ts";
import { forTenant, type Walked, walkRequests, walkTenantParameter } from "./requests.ts";
import { createTenant, openMcpSession, type TenantName } from "./tenants.ts";
import { CALLER, OF_CLIENT, OF_SESSION, VICTIM, type Walk } from "./the-walk.ts";

type Account = Omit<TenantName, "server">;

export function addOrganizations(github: FakeGithub, accounts: readonly Account[]): void {
  for (const { account, slug } of accounts) {
    github.addOrganization(slug, { id: account });
    github.install(slug, { id: account * 10 });
  }
}

/** It would end the session. */
const SIGN_OUT = "DELETE /api/session";
const SESSION = "a session";
const CLIENT = "an OAuth token";

/** Where the response to a person differs from the response to a token, with the reason. */
const differences: Record<string, string> = {
  [`${SESSION}: POST /api/session/links ()`]: "people sign in with GitHub",
  [`${SESSION}: POST /api/session ()`]: "needs the header Origin, which only a browser sends",
  [`${CLIENT}: POST /api/session/links ()`]: "has an audience, which a session lacks",
  [`${CLIENT}: DELETE /api/tokens/{token} (token)`]: "OAuth clients manage no tokens",
};

export interface AdminWalk extends Walk {
  who: string;
}

/** Two tenants with one admin each, of whom one uses the web UI, and the other a client. */
export async function signInAdmins(
  walk: Walk,
  github: FakeGithub,
  server: string,
): Promise<AdminWalk[]> {
  const { hub } = walk;
  addOrganizations(github, [OF_SESSION, OF_CLIENT]);
  const signIn = async (login: string, { slug }: Account) => {
    github.addUser(login);
    github.setMember(slug, login, { role: "admin" });
    // Neither opens an inbox: to read one repository, and to be invited.
    github.addCollaborator(VICTIM.account * 10, login);
    github.setMember(VICTIM.slug, login, { role: "admin", state: "pending" });
    return signInWithGithub(hub.url, github, login);
  };
  const walkOf = async (who: string, account: Account, credential: Credential) => {
    const { ids, ...tenant } = await createTenant(hub, { ...account, server });
    const mcpSession = await openMcpSession(hub, credential, who);
    return { ...walk, who, caller: { ...tenant, ids: { ...ids, mcpSession } }, credential };
  };
  const session = await signIn("ann", OF_SESSION);
  const browser = createOAuthBrowser(hub.url, (await signIn("bob", OF_CLIENT)).cookie);
  const { access_token } = await connectClient(hub.url, browser, CLIENT, "admin");
  return [
    await walkOf(SESSION, OF_SESSION, session),
    // What a client may do differs from a session as a whole, not by id.
    { ...(await walkOf(CLIENT, OF_CLIENT, access_token)), oneByOne: false },
  ];
}

/** `byToken`: what a token got. */
export async function walkAsAdmin(
  walk: AdminWalk,
  all: readonly WalkedRequest[],
  byToken: Walked,
): Promise<string[]> {
  const { who, hub, caller, credential } = walk;
  const requests = all.filter(({ name }) => name !== SIGN_OUT);
  const reads = requests.filter(({ name }) => name.startsWith("GET "));
  const findings = await walkOwnIds(hub, caller, reads, credential);
  const walked = await walkRequests(walk, requests);
  findings.push(...walked.findings, ...(await walkTenantParameter(walk, requests)));
  for (const [where, outcome] of walked.outcomes) {
    const expected = byToken.outcomes.get(where);
    if (outcome !== expected && !(`${who}: ${where}` in differences))
      findings.push(`${where}: ${outcome} instead of ${expected}`);
  }
  return findings.map((finding) => `${who}: ${finding}`);
}

/** Members of the organizations of the caller and of the victim. */
export async function walkAsMembers(
  walk: Walk,
  github: FakeGithub,
  requests: readonly WalkedRequest[],
): Promise<string[]> {
  const signIn = (login: string, ...accounts: Account[]) => {
    github.addUser(login);
    for (const { slug } of accounts) github.setMember(slug, login);
    return signInWithGithub(walk.hub.url, github, login);
  };
  return [
    ...(await walkBoth(walk, await signIn("carl", CALLER, VICTIM), requests)),
    ...(await walkMember(walk, await signIn("dora", CALLER), requests)),
  ];
}

const mergedReads: readonly HubRequest[] = [
  { method: "GET", path: "/pending-events" },
  { method: "GET", path: "/webhook-events" },
  ...["list_pending_events", "get_webhook_events", "search_events"].map((name) =>
    rpc("/mcp", "tools/call", { name, arguments: {} }),
  ),
];

/** The events of all tenants of a person are merged; other requests name a tenant. */
async function walkBoth(
  { hub, victim, caller }: Walk,
  both: Credential,
  requests: readonly WalkedRequest[],
): Promise<string[]> {
  const findings: string[] = [];
  for (const request of mergedReads) {
    const { status, text } = await send(hub, both, request);
    for (const { marker } of [victim, caller])
      if (!text.includes(marker))
        findings.push(`${request.path} lacks ${marker}: ${status} ${text.slice(0, 400)}`);
  }
  for (const { ids } of [victim, caller])
    for (const { name, request, hasTenant } of requests) {
      if (!name.startsWith("GET ") || !hasTenant || !memberRequests.has(name)) continue;
      const { status, text } = await send(hub, both, forTenant(request(ids), ids.tenant));
      if (status >= 400) findings.push(`${name}: ${status} ${text.slice(0, 400)}`);
    }
  return findings.map((finding) => `a member of both tenants: ${finding}`);
}

/** Every request of a member is in `memberRequests`, or is denied with the name of the role. */
async function walkMember(
  { hub, caller }: Walk,
  member: Credential,
  requests: readonly WalkedRequest[],
): Promise<string[]> {
  const findings: string[] = [];
  for (const { name, request } of requests) {
    if (name === SIGN_OUT) continue;
    const sent = request(caller.ids);
    const { status, text } = await send(hub, member, sent);
    const isDenied =
      (status === 403 || sent.path.startsWith("/mcp")) &&
      text.includes("Admins of the organization have all scopes.");
    if (isDenied === memberRequests.has(name))
      findings.push(`a member: ${name}: ${status} ${text.slice(0, 400)}`);
  }
  return findings;
}
