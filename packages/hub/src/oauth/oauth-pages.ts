/**
 * The authorization endpoint and the page for device codes. Every request of every client needs the
 * consent of a signed-in person. The hub accepts the form only from its own page: it checks the origin,
 * and the form contains a `Consent` that is sealed for the session. The hub trusts no client, because any
 * program can register one. So it redirects to a client only after a click of the person (RFC 9700,
 * section 4.11.2).
 */
import type { Context, Hono } from "hono";
import { isMcpServer } from "../kernel/access/audience.ts";
import { type AuthorizeRequest, baseUrl } from "../kernel/access/authorize-request.ts";
import { Denied } from "../kernel/access/authorizer.ts";
import {
  allows,
  EVERY_TENANT,
  type GrantedToken,
  scopesIn,
  type TokenLookup,
} from "../kernel/access/scopes.ts";
import { messagePage, reopenPage } from "../kernel/http/html-page.ts";
import { deniedResponse } from "../kernel/http/problem-response.ts";
import type { Seal } from "../kernel/lib/seal.ts";
import type { Store } from "../store.ts";
import { ReturnedError, readAuthorization } from "./authorization-request.ts";
import { isDocumentUrl } from "./client-document.ts";
import type { Clients } from "./clients.ts";
import { type Consent, openConsent, sealConsent } from "./consent.ts";
import { decide, redirectTo } from "./decide.ts";
import { readUserCode } from "./device.ts";
import { readForm, requireParam } from "./form.ts";
import type { OAuthClient } from "./model.ts";
import { formOf } from "./oauth-endpoints.ts";
import { OAuthError } from "./oauth-error.ts";
import { CANNOT_ANSWER, consentPage, returnPage, userCodePage } from "./oauth-html.ts";
import { AUTHORIZE, DEVICE, issuerFor } from "./oauth-paths.ts";
import { describeRedirect } from "./redirect-uris.ts";

export interface OAuthPages {
  authorizeRequest: AuthorizeRequest;
  tokens: Pick<TokenLookup, "getToken">;
  clients: Clients;
  store: Pick<Store, "createOAuthGrant" | "decideOAuthGrant" | "findPendingGrant"> &
    Pick<Store, "getPerson"> &
    Pick<Store, "getTenant">;
  tenancy: "single" | "github";
  seal: Seal;
  newId: () => string;
  now: () => number;
  publicUrl: string | undefined;
}

/** The query parameter that marks a page which has reopened itself, so that it does so only once. */
const REOPENED = "reopened";

export function addOAuthPages(app: Hono, options: OAuthPages): void {
  const { authorizeRequest, tokens, clients, store, tenancy, seal, newId, now, publicUrl } =
    options;

  /** Returns the hub's URL as the client knows it, even if its page was redirected to another loopback name. */
  const hubFor = (c: Context, resource: string | undefined): string => {
    const hub = baseUrl(c.req, publicUrl);
    return publicUrl === undefined ? issuerFor(resource, hub) : hub;
  };

  /** Returns the session, or the response to a request without a session. */
  async function requireSession(c: Context): Promise<GrantedToken | Response> {
    const access = await authorizeRequest(c.req.raw, { needsTenant: false });
    if (access instanceof Denied)
      return access.status === 401 ? signInResponse(c) : deniedResponse(access);
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

  const askConsent = async (
    session: GrantedToken,
    client: Pick<OAuthClient, "id" | "name">,
    request: Omit<Consent, "session" | "client_id" | "client_name">,
    started?: { at: string; check: string },
  ) => {
    const consent: Consent = {
      ...request,
      session: session.id,
      client_id: client.id,
      client_name: client.name,
      scopes: grantableScopes(session, request),
    };
    if (consent.scopes.length === 0)
      return messagePage("Not allowed", "Your session has none of the requested scopes.", 403);
    const { redirect_uri } = request;
    return consentPage({
      consent: await sealConsent(seal, consent, now()),
      action: request.flow === "device" ? DEVICE : AUTHORIZE,
      clientName: client.name,
      clientHost: isDocumentUrl(client.id) ? new URL(client.id).host : undefined,
      scopes: consent.scopes,
      tenants: await describeTenants(session),
      resource: request.resource,
      isWholeHub: !isMcpServer(new URL(request.resource).pathname),
      signedInAs: await nameOf(session),
      redirect:
        redirect_uri === null
          ? undefined
          : { description: describeRedirect(redirect_uri), formTarget: formTarget(redirect_uri) },
      started,
    });
  };

  app.get(AUTHORIZE, async (c) => {
    const session = await requireSession(c);
    if (session instanceof Response) return session;
    const hub = hubFor(c, c.req.query("resource"));
    try {
      const form = readForm(new URL(c.req.url).searchParams);
      const client = await clients.find(requireParam(form, "client_id"));
      const request = readAuthorization(form, client, hub);
      const started = request.flow === "poll" ? startedBy(client) : undefined;
      return await askConsent(session, client, { ...request, id: newId() }, started);
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
    const session = await requireSession(c);
    if (session instanceof Response) return session;
    const typed = c.req.query("user_code");
    if (typed === undefined || typed === "") return userCodePage();
    const userCode = readUserCode(typed);
    const grant = await store.findPendingGrant(userCode, now());
    if (!grant) return userCodePage("This code is unknown, was used or has expired.");
    const client = { id: grant.client_id, name: grant.client_name };
    const { id, redirect_uri, challenge, resource, scopes, created_at } = grant;
    const request = { id, flow: "device" as const, redirect_uri, challenge, resource, scopes };
    return askConsent(
      session,
      client,
      { ...request, state: null },
      {
        at: timeOf(created_at),
        check: `Allow it only if your own program shows the code ${userCode} right now.`,
      },
    );
  });

  const handleDecision = async (c: Context): Promise<Response> => {
    const session = await requireSession(c);
    if (session instanceof Response) return session;
    try {
      const form = await formOf(c);
      const consent = await openConsent(seal, requireParam(form, "consent"), session.id, now());
      if (!consent)
        throw new OAuthError(
          "invalid_request",
          "This page belongs to another session, or has expired. Start again in the program.",
        );
      const { tenants, parent, person } = session;
      const isAllowed = requireParam(form, "decision") === "allow";
      const next = await decide(
        consent,
        isAllowed
          ? { scopes: grantableScopes(session, consent), tenants, parent, person }
          : undefined,
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
  app.post(AUTHORIZE, handleDecision);
  app.post(DEVICE, handleDecision);
}

/**
 * Returns the requested scopes that the session may grant. A person may grant the scopes that the person
 * has in at least one tenant.
 */
const grantableScopes = (session: GrantedToken, { scopes }: Pick<Consent, "scopes">) =>
  scopes.filter((scope) =>
    session.tenants.some((tenant) => allows({ scopes: scopesIn(session, tenant) }, scope)),
  );

/**
 * The first visit may come from another site, without the cookie, so the page is reopened. If the second
 * visit has no session either, the person must sign in.
 */
function signInResponse(c: Context): Response {
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

/** Shows an `OAuthError`. Rethrows other errors. */
function errorPage(error: unknown): Response {
  if (!(error instanceof OAuthError)) throw error;
  return messagePage(CANNOT_ANSWER, `${error.message} (${error.error})`, 400);
}

/** Returns the source expression of a redirect URI for `form-action`. */
function formTarget(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri);
  const isWeb = protocol === "https:" || protocol === "http:";
  // A source expression cannot have an IPv6 address.
  return isWeb && !hostname.startsWith("[") ? `${protocol}//${host}` : protocol;
}

const timeOf = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const startedBy = ({ name, created_at }: OAuthClient) => ({
  at: `by a program that registered at ${timeOf(created_at)}`,
  check: `Allow it only if you have just started ${name} on your own computer, and it has opened this page. If someone sent you the link, deny it: they would get your access.`,
});
