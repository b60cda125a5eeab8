/**
 * Repeats the walk as people who have signed in with GitHub. Admins of organizations send the requests of
 * the walk by a session and by an OAuth client, and must get the same outcomes as a token. A member of two
 * organizations can read the data of both. A member who is not an admin can make the requests of
 * `memberRequests` only.
 */
import type { FakeGithub } from "../fake-github.ts";
import { signInWithGithub } from "../github-sign-in.ts";
import { connectClient, createOAuthBrowser } from "../oauth-browser.ts";
import type { RequestTemplate } from "./generate-requests.ts";
import { type Credential, type HubRequest, rpcRequest, send } from "./hub-client.ts";
import { memberRequests } from "./member-requests.ts";
import { walkOwnIds } from "./own-data.ts";
import { createTenant, openMcpSession, type TenantIdentity } from "./tenants.ts";
import { CALLER, CLIENT_TENANT, SESSION_TENANT, VICTIM, type WalkContext } from "./walk-context.ts";
import {
  type WalkResult,
  walkRequests,
  walkTenantParameter,
  withTenantParameter,
} from "./walk-requests.ts";

export function addOrganizations(
  github: FakeGithub,
  organizations: readonly TenantIdentity[],
): void {
  for (const { account, slug } of organizations) {
    github.addOrganization(slug, { id: account });
    github.install(slug, { id: account * 10 });
  }
}

/** Left out of the walk, because it would end the session. */
const SIGN_OUT = "DELETE /api/session";
const SESSION = "a session";
const CLIENT = "an OAuth token";

/** Requests whose outcome for a person differs from the outcome for a token, with the reason. */
const expectedDifferences: Record<string, string> = {
  [`${SESSION}: POST /api/session/links ()`]: "people sign in with GitHub",
  [`${SESSION}: POST /api/session ()`]: "needs the header Origin, which only a browser sends",
  [`${CLIENT}: POST /api/session/links ()`]:
    "an OAuth token has an audience, and a session has none",
  [`${CLIENT}: DELETE /api/tokens/{token} (token)`]: "OAuth clients cannot manage tokens",
};

export interface AdminWalkContext extends WalkContext {
  /** The kind of credential, for findings. */
  credentialName: string;
}

/** Creates two tenants with one admin each. One admin uses a session, the other an OAuth client. */
export async function signInAdmins(
  walk: WalkContext,
  github: FakeGithub,
  server: string,
): Promise<AdminWalkContext[]> {
  const { hub } = walk;
  addOrganizations(github, [SESSION_TENANT, CLIENT_TENANT]);
  const signIn = async (login: string, { slug }: TenantIdentity) => {
    github.addUser(login);
    github.setMember(slug, login, { role: "admin" });
    // Neither gives access to the victim: to be a collaborator of a repository, and to be invited.
    github.addCollaborator(VICTIM.account * 10, login);
    github.setMember(VICTIM.slug, login, { role: "admin", state: "pending" });
    return signInWithGithub(hub.url, github, login);
  };
  const createContext = async (
    credentialName: string,
    identity: TenantIdentity,
    credential: Credential,
  ) => {
    const { ids, ...tenant } = await createTenant(hub, { ...identity, server });
    const mcpSession = await openMcpSession(hub, credential, credentialName);
    return {
      ...walk,
      credentialName,
      caller: { ...tenant, ids: { ...ids, mcpSession } },
      credential,
    };
  };
  const session = await signIn("ann", SESSION_TENANT);
  const browser = createOAuthBrowser(hub.url, (await signIn("bob", CLIENT_TENANT)).cookie);
  const { access_token } = await connectClient(hub.url, browser, CLIENT, "admin");
  return [
    await createContext(SESSION, SESSION_TENANT, session),
    // The permissions of an OAuth client differ from a session by request, not by id.
    { ...(await createContext(CLIENT, CLIENT_TENANT, access_token)), oneByOne: false },
  ];
}

/** Walks the hub as an admin. `tokenResult` is the result of the same requests with a token. */
export async function walkAsAdmin(
  walk: AdminWalkContext,
  allRequests: readonly RequestTemplate[],
  tokenResult: WalkResult,
): Promise<string[]> {
  const { credentialName, hub, caller, credential } = walk;
  const requests = allRequests.filter(({ name }) => name !== SIGN_OUT);
  const reads = requests.filter(({ name }) => name.startsWith("GET "));
  const findings = await walkOwnIds(hub, caller, reads, credential);
  const result = await walkRequests(walk, requests);
  findings.push(...result.findings, ...(await walkTenantParameter(walk, requests)));
  for (const [where, outcome] of result.outcomes) {
    const expected = tokenResult.outcomes.get(where);
    if (outcome !== expected && !(`${credentialName}: ${where}` in expectedDifferences))
      findings.push(`${where}: ${outcome} instead of ${expected}`);
  }
  return findings.map((finding) => `${credentialName}: ${finding}`);
}

/** Walks the hub as a member of both the caller and the victim, and as a member of the caller only. */
export async function walkAsMembers(
  walk: WalkContext,
  github: FakeGithub,
  requests: readonly RequestTemplate[],
): Promise<string[]> {
  const signIn = (login: string, ...organizations: TenantIdentity[]) => {
    github.addUser(login);
    for (const { slug } of organizations) github.setMember(slug, login);
    return signInWithGithub(walk.hub.url, github, login);
  };
  return [
    ...(await walkAsMemberOfBoth(walk, await signIn("carl", CALLER, VICTIM), requests)),
    ...(await walkAsMember(walk, await signIn("dora", CALLER), requests)),
  ];
}

const inboxReads: readonly HubRequest[] = [
  { method: "GET", path: "/pending-events" },
  { method: "GET", path: "/webhook-events" },
  ...["list_pending_events", "get_webhook_events", "search_events"].map((name) =>
    rpcRequest("/mcp", "tools/call", { name, arguments: {} }),
  ),
];

/** Checks that inbox reads return the events of both tenants, and that other reads succeed for each tenant. */
async function walkAsMemberOfBoth(
  { hub, victim, caller }: WalkContext,
  member: Credential,
  requests: readonly RequestTemplate[],
): Promise<string[]> {
  const findings: string[] = [];
  for (const request of inboxReads) {
    const { status, text } = await send(hub, member, request);
    for (const { marker } of [victim, caller])
      if (!text.includes(marker))
        findings.push(`${request.path} lacks ${marker}: ${status} ${text.slice(0, 400)}`);
  }
  for (const { ids } of [victim, caller])
    for (const { name, request, acceptsTenant } of requests) {
      if (!name.startsWith("GET ") || !acceptsTenant || !memberRequests.has(name)) continue;
      const { status, text } = await send(
        hub,
        member,
        withTenantParameter(request(ids), ids.tenant),
      );
      if (status >= 400) findings.push(`${name}: ${status} ${text.slice(0, 400)}`);
    }
  return findings.map((finding) => `a member of both tenants: ${finding}`);
}

/** Checks that the role of the member denies exactly the requests that are not in `memberRequests`. */
async function walkAsMember(
  { hub, caller }: WalkContext,
  member: Credential,
  requests: readonly RequestTemplate[],
): Promise<string[]> {
  const findings: string[] = [];
  for (const { name, request } of requests) {
    if (name === SIGN_OUT) continue;
    const filledRequest = request(caller.ids);
    const { status, text } = await send(hub, member, filledRequest);
    const isDenied =
      (status === 403 || filledRequest.path.startsWith("/mcp")) &&
      text.includes("Admins of the organization have all scopes.");
    if (isDenied === memberRequests.has(name))
      findings.push(`a member: ${name}: ${status} ${text.slice(0, 400)}`);
  }
  return findings;
}
