import type { Context } from "hono";
import { createByteReservations, type ReserveBytes } from "../http/byte-budgets.ts";
import { createSessionCookie } from "../http/cookie.ts";
import type { HostCheck } from "../http/host-check.ts";
import { deniedResponse, errorResponse } from "../http/problem-response.ts";
import { bearerToken } from "../http/request-token.ts";
import { audiencesOf, isMcpServer, resourceMetadataUrl } from "./audience.ts";
import { type Access, type Authorizer, Denied, type Requirement } from "./authorizer.ts";
import { DEFAULT_SCOPES, type Scope } from "./scopes.ts";

/** A `Request`, or as much of one as a host has before it upgrades a connection. */
export interface RequestHead {
  method: string;
  url: string;
  headers: { get(name: string): string | null };
}

export type AuthorizeRequest = (
  request: RequestHead,
  requirement: Omit<Requirement, "session" | "audiences">,
) => Promise<Access | Denied>;

export interface AuthorizeRequestOptions {
  authorizer: Pick<Authorizer, "authorize">;
  checkHost: HostCheck;
  /** The URL under which clients reach this hub. By default, the origin of the request. */
  publicUrl?: string | undefined;
}

export function createAuthorizeRequest({
  authorizer,
  checkHost,
  publicUrl,
}: AuthorizeRequestOptions): AuthorizeRequest {
  const cookie = createSessionCookie(publicUrl);
  return async (request, requirement) => {
    const { method, headers } = request;
    const denied = checkHost(headers.get("host") ?? "", headers.get("origin") ?? undefined);
    if (denied) return denied;
    const url = new URL(request.url);
    const tenant =
      requirement.tenant ??
      (url.searchParams.get("tenant") || headers.get("x-signalbox-tenant") || undefined);
    const authorization = headers.get("authorization");
    // A proxy may have its own credentials in `Authorization`, such as Basic.
    const hasBearer = bearerToken(authorization) !== undefined;
    if (!hasBearer && cookie.isAmbiguous(headers)) return AMBIGUOUS_SESSION;
    const session = hasBearer ? undefined : cookie.read(headers);
    if (session !== undefined && !SAFE_METHODS.includes(method) && headers.get("origin") === null)
      return NO_ORIGIN;
    const hub = baseUrl(request, publicUrl);
    const access = await authorizer.authorize(authorization, {
      ...requirement,
      session,
      tenant,
      audiences: audiencesOf(hub, url.pathname),
    });
    if (!(access instanceof Denied)) return access;
    const { status, code, detail } = access;
    const lacksScope = code === "insufficient_scope";
    if (status !== 401 && !lacksScope) return access;
    const error = lacksScope ? code : code === "token_missing" ? undefined : "invalid_token";
    // From `resource_metadata`, MCP clients discover how the hub authorizes requests (RFC 9728).
    const challenge = {
      error,
      scope: lacksScope ? requirement.scope : scopesFor(url.pathname, requirement.scope),
      resource_metadata: resourceMetadataUrl(hub, url.pathname),
    };
    const params = Object.entries(challenge).filter(([, value]) => value !== undefined);
    return new Denied(status, code, detail, {
      "www-authenticate": `Bearer ${params.map(([name, value]) => `${name}="${value}"`).join(", ")}`,
    });
  };
}

/** Returns the scopes that a client should request. An agent needs more scopes than its first request. */
const scopesFor = (path: string, scope: Scope | undefined): string | undefined =>
  isMcpServer(path) ? DEFAULT_SCOPES.join(" ") : scope;

const SAFE_METHODS: readonly string[] = ["GET", "HEAD"];

/**
 * Browsers send `Origin` with every request that can change something, and `checkHost` checks it. Without
 * the header, a session cookie is not accepted.
 */
export const NO_ORIGIN = new Denied(
  403,
  "foreign_origin",
  "A request with a session cookie must have the header Origin. Programs send a token instead.",
);

/** The web UI then asks to sign in, which removes the other cookies that browsers send with that request. */
const AMBIGUOUS_SESSION = new Denied(
  401,
  "session_ambiguous",
  "The request has several session cookies of this hub. Another site of the same domain may have set one. Sign in again: `npx signalbox open` prints a link. If the error remains, delete the cookies of this site in the browser.",
);

/** Returns the hub's URL for the client, without a trailing slash. */
export const baseUrl = ({ url }: Pick<RequestHead, "url">, publicUrl: string | undefined): string =>
  publicUrl?.replace(/\/$/, "") ?? new URL(url).origin;

/** Handlers of routes that are not in the JSON API, such as those of MCP. They require a token. */
export function createAuthorizedHandlers(authorizeRequest: AuthorizeRequest) {
  const reservationsOf = createByteReservations();
  return (
    scope: Scope,
    handle: (c: Context, access: Access, reserveBytes: ReserveBytes) => Promise<Response>,
    requirement: Pick<Requirement, "mayChooseTenantLater"> = {},
  ) =>
    async (c: Context): Promise<Response> => {
      const access = await authorizeRequest(c.req.raw, { scope, ...requirement });
      if (access instanceof Denied) return deniedResponse(access);
      try {
        return await handle(c, access, reservationsOf(c, access.token));
      } catch (error) {
        return errorResponse(error);
      }
    };
}
