/**
 * The authorization endpoint and the page for device codes. Every client needs the consent of a
 * signed-in person, every time. The form is accepted from the hub's own page only: its origin is
 * checked, and the question in it is sealed for the session that saw it. The hub trusts no client: any
 * program can register one. So it redirects to a client only after a click of the person (RFC 9700,
 * section 4.11.2).
 */
import type { Context, Hono } from "hono";
import type { Seal } from "../lib/seal.ts";
import type { OAuthClient, OAuthStore } from "../store/oauth-store.ts";
import type { PeopleStore } from "../store/people-store.ts";
import type { Store } from "../store/store.ts";
import { isMcpServer } from "../tenants/audience.ts";
import { allows, Denied } from "../tenants/authorizer.ts";
import { type GrantedToken, scopesIn } from "../tenants/granted-scopes.ts";
import type { TokenLookup } from "../tenants/local-token.ts";
import { ReturnedError, readAuthorization } from "../tenants/oauth/authorization-request.ts";
import { isDocumentUrl } from "../tenants/oauth/client-document.ts";
import type { Clients } from "../tenants/oauth/clients.ts";
import { type Consent, openConsent, sealConsent } from "../tenants/oauth/consent.ts";
import { decide, redirectTo } from "../tenants/oauth/decide.ts";
import { readUserCode } from "../tenants/oauth/device.ts";
import { readForm, required } from "../tenants/oauth/form.ts";
import { OAuthError } from "../tenants/oauth/oauth-error.ts";
import { describeRedirect } from "../tenants/oauth/redirect-uris.ts";
import { EVERY_TENANT } from "../tenants/tokens.ts";
import { type AuthorizeRequest, baseUrl } from "./authorize-request.ts";
import { formOf } from "./oauth-endpoints.ts";
import {
  CANNOT_ANSWER,
  consentPage,
  messagePage,
  reopenPage,
  returnPage,
  userCodePage,
} from "./oauth-html.ts";
import { AUTHORIZE, DEVICE } from "./oauth-paths.ts";
import { issuerFor } from "./page-redirect.ts";
import { deniedResponse } from "./problem-response.ts";

export interface OAuthPages {
  authorizeRequest: AuthorizeRequest;
  tokens: Pick<TokenLookup, "getToken">;
  clients: Clients;
  store: Pick<OAuthStore, "createOAuthGrant" | "decideOAuthGrant" | "findPendingGrant"> &
    Pick<PeopleStore, "getPerson"> &
    Pick<Store, "getTenant">;
  tenancy: "single" | "github";
  seal: Seal;
  newId: () => string;
  now: () => number;
  publicUrl: string | undefined;
}

/** Set when a page is opened again, so that it is opened only twice. */
const REOPENED = "reopened";

export function addOAuthPages(app: Hono, options: OAuthPages): void {
  const { authorizeRequest, tokens, clients, store, tenancy, seal, newId, now, publicUrl } =
    options;

  /** The hub's URL for the client, also if its page was redirected to another loopback name. */
  const hubFor = (c: Context, resource: string | undefined): string => {
    const hub = baseUrl(c.req, publicUrl);
    return publicUrl === undefined ? issuerFor(resource, hub) : hub;
  };

  /** The session, or the response to a browser without one. */
  async function signedIn(c: Context): Promise<GrantedToken | Response> {
    const access = await authorizeRequest(c.req.raw, { needsTenant: false });
    if (access instanceof Denied)
      return access.status === 401 ? signInFirst(c) : deniedResponse(access);
    const session = await tokens.getToken(access.token);
    if (session?.kind !== "session")
      return messagePage("Open this page in a browser", "A token cannot consent.", 403);
    return session;
  }

  const nameOf = async ({ person: id }: GrantedToken): Promise<string> => {
    if (id === null) return "the operator of this hub";
    const person = await store.getPerson(id);
    return person ? `${person.login} on GitHub` : id;
  };

  const describeTenants = async ({ tenants }: GrantedToken): Promise<string | undefined> => {
    if (tenancy === "single") return undefined;
    if (tenants.includes(EVERY_TENANT)) return "all, and all future ones";
    const described = tenants.map(async (id) => {
      const name = (await store.getTenant(id))?.name;
      return name ? `${name} (${id})` : id;
    });
    return (await Promise.all(described)).join(", ");
  };

  const ask = async (
    session: GrantedToken,
    client: Pick<OAuthClient, "id" | "name">,
    asked: Omit<Consent, "session" | "client_id" | "client_name">,
    started?: { at: string; check: string },
  ) => {
    const consent: Consent = {
      ...asked,
      session: session.id,
      client_id: client.id,
      client_name: client.name,
      scopes: scopesOf(session, asked),
    };
    if (consent.scopes.length === 0)
      return messagePage("Not allowed", "Your session has none of the requested scopes.", 403);
    const { redirect_uri } = asked;
    return consentPage({
      consent: await sealConsent(seal, consent, now()),
      action: asked.flow === "device" ? DEVICE : AUTHORIZE,
      clientName: client.name,
      clientHost: isDocumentUrl(client.id) ? new URL(client.id).host : undefined,
      scopes: consent.scopes,
      tenants: await describeTenants(session),
      resource: asked.resource,
      isWholeHub: !isMcpServer(new URL(asked.resource).pathname),
      as: await nameOf(session),
      redirect:
        redirect_uri === null
          ? undefined
          : { description: describeRedirect(redirect_uri), formTarget: formTarget(redirect_uri) },
      started,
    });
  };

  app.get(AUTHORIZE, async (c) => {
    const session = await signedIn(c);
    if (session instanceof Response) return session;
    const hub = hubFor(c, c.req.query("resource"));
    try {
      const form = readForm(new URL(c.req.url).searchParams);
      const client = await clients.find(required(form, "client_id"));
      const request = readAuthorization(form, client, hub);
      const started = request.flow === "poll" ? startedBy(client) : undefined;
      return await ask(session, client, { ...request, id: newId() }, started);
    } catch (error) {
      if (!(error instanceof ReturnedError)) return errorPage(error);
      const { redirectUri: redirect_uri, state, code, message } = error;
      const params = { error: code, error_description: message };
      return returnPage({
        text: `${message} (${code})`,
        description: describeRedirect(redirect_uri),
        href: redirectTo({ redirect_uri, state }, hub, params),
      });
    }
  });

  app.get(DEVICE, async (c) => {
    const session = await signedIn(c);
    if (session instanceof Response) return session;
    const typed = c.req.query("user_code");
    if (typed === undefined || typed === "") return userCodePage();
    const userCode = readUserCode(typed);
    const grant = await store.findPendingGrant(userCode, now());
    if (!grant) return userCodePage("This code is unknown, was used or has expired.");
    const client = { id: grant.client_id, name: grant.client_name };
    const { id, redirect_uri, challenge, resource, scopes, created_at } = grant;
    const asked = { id, flow: "device" as const, redirect_uri, challenge, resource, scopes };
    return ask(
      session,
      client,
      { ...asked, state: null },
      {
        at: timeOf(created_at),
        check: `Allow it only if your own program shows the code ${userCode} right now.`,
      },
    );
  });

  const answer = async (c: Context): Promise<Response> => {
    const session = await signedIn(c);
    if (session instanceof Response) return session;
    try {
      const form = await formOf(c);
      const consent = await openConsent(seal, required(form, "consent"), session.id, now());
      if (!consent)
        throw new OAuthError(
          "invalid_request",
          "This page is not of your session, or has expired.",
        );
      const { tenants, parent, person } = session;
      const isAllowed = required(form, "decision") === "allow";
      const next = await decide(
        consent,
        isAllowed ? { scopes: scopesOf(session, consent), tenants, parent, person } : undefined,
        { store, now, hub: hubFor(c, consent.resource) },
      );
      if (next !== undefined) return seeOther(next);
      return isAllowed
        ? messagePage("Connected", `${consent.client_name} continues. You can close this page.`)
        : messagePage("Denied", `${consent.client_name} gets no access. You can close this page.`);
    } catch (error) {
      return errorPage(error);
    }
  };
  app.post(AUTHORIZE, answer);
  app.post(DEVICE, answer);
}

/** What the session may grant: a person, what the person may do in at least one tenant. */
const scopesOf = (session: GrantedToken, { scopes }: Pick<Consent, "scopes">) =>
  scopes.filter((scope) =>
    session.tenants.some((tenant) => allows({ scopes: scopesIn(session, tenant) }, scope)),
  );

/** A first visit may come from another site, without the cookie; a second one comes from this hub. */
function signInFirst(c: Context): Response {
  if (c.req.method !== "GET")
    return messagePage("Signed out", "Your session has ended. Start again in the program.", 401);
  const { pathname, searchParams } = new URL(c.req.url);
  const wasReopened = searchParams.has(REOPENED);
  searchParams.set(REOPENED, "1");
  const path = `${pathname}?${searchParams}`;
  if (!wasReopened) return reopenPage(path);
  return seeOther(`/sign-in?return_to=${encodeURIComponent(path)}`);
}

const seeOther = (location: string): Response =>
  new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });

/** Other errors are rethrown. */
function errorPage(error: unknown): Response {
  if (!(error instanceof OAuthError)) throw error;
  return messagePage(CANNOT_ANSWER, `${error.message} (${error.error})`, 400);
}

/** The source expression of a redirect URI for `form-action`. */
function formTarget(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri);
  const isWeb = protocol === "https:" || protocol === "http:";
  // An IPv6 address is not a source expression.
  return isWeb && !hostname.startsWith("[") ? `${protocol}//${host}` : protocol;
}

const timeOf = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const startedBy = ({ name, created_at }: OAuthClient) => ({
  at: `by a program that registered at ${timeOf(created_at)}`,
  check: `Allow it only if you have just started ${name} on your own computer, and it has opened this page. If someone sent you the link, deny it: they would get your access.`,
});
