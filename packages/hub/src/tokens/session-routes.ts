/** Routes of sessions: sign-in to the web UI by a link with a one-time code, and sign-out. */
import type { Hono } from "hono";
import { z } from "zod";
import { NO_ORIGIN } from "../kernel/access/authorize-request.ts";
import { Denied, grants } from "../kernel/access/authorizer.ts";
import type { GrantedToken, TokenLookup } from "../kernel/access/granted-scopes.ts";
import { scopes } from "../kernel/access/scopes.ts";
import { createSessionCookie } from "../kernel/access/session-cookie.ts";
import { allowedAvatar } from "../kernel/http/avatars.ts";
import type { HostCheck } from "../kernel/http/host-check.ts";
import { type GetHubInfo, hubInfoView } from "../kernel/http/hub-info.ts";
import { iso, isoOrNull } from "../kernel/http/paging.ts";
import { deniedResponse, errorResponse } from "../kernel/http/problem-response.ts";
import { readJson, TOO_LARGE } from "../kernel/http/read-json.ts";
import { defineRoute, type Route, type RouteDescription } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import { CODE_MS, type Sessions, sessionAccessOf } from "./sessions.ts";

const tag = "session";
const time = z.iso.datetime();

export const sessionView = z.object({
  id: z.string().describe("The id of the session, or of the token."),
  name: z.string(),
  scopes: z.array(z.enum(scopes as [string, ...string[]])),
  tenant: z.string().nullable().describe("The tenant, if there is exactly one."),
  tenants: z
    .array(z.string())
    .describe("The tenants of the session. Empty: all tenants, so requests must name one."),
  person: z
    .object({
      login: z.string(),
      name: z.string().nullable(),
      avatar_url: z.string().nullable(),
      roles: z
        .record(z.string(), z.enum(["member", "admin"]))
        .describe("The role in each tenant. `admin` may do everything in it."),
    })
    .nullable()
    .describe("The person who has signed in with GitHub; null for the operator."),
  expires_at: time.nullable(),
  hub: hubInfoView,
});
const linkView = z.object({
  url: z.string().describe("A link that opens the web UI, and signs a browser in once."),
  expires_at: time,
});
const signInBody = z.strictObject(
  { code: z.string("must be the code of a sign-in link").min(1).max(200) },
  'must be an object such as { "code": "…" }',
);

const viewPerson = (
  { login, name, avatar }: { login: string; name: string | null; avatar: string | null },
  roles: GrantedToken["roles"],
  avatarOrigins: readonly string[],
): z.input<typeof sessionView>["person"] => ({
  login,
  name,
  avatar_url: allowedAvatar(avatar, avatarOrigins),
  roles: roles instanceof Map ? Object.fromEntries(roles) : {},
});

export interface SessionRoutes {
  sessions: Sessions;
  store: Pick<Store, "getPerson" | "getToken" | "revokeToken">;
  tokens: TokenLookup;
  hubInfo: GetHubInfo;
  publicUrl?: string | undefined;
  /** The origins of avatars that browsers may load. */
  avatarOrigins?: readonly string[];
  now: () => number;
}

/** Returns the path of the page that signs in. The code is in the fragment, which browsers do not send to servers. */
export const signInPath = (code: string): string => `/sign-in#code=${code}`;

export function sessionRoutes({
  sessions,
  store,
  tokens,
  hubInfo,
  publicUrl,
  avatarOrigins = [],
  now,
}: SessionRoutes): Route[] {
  const cookie = createSessionCookie(publicUrl);
  return [
    defineRoute({
      method: "get",
      path: "/api/session",
      summary: "Get the scopes and tenants of the session or the token, and the hub's addresses",
      tag,
      scope: "any",
      isShared: true,
      response: { status: 200, schema: sessionView },
      async handle({ access, origin }) {
        const token = await tokens.getToken(access.token);
        const { token: id, name, scopes, tenants } = access;
        const tenant = tenants.length === 1 ? tenants[0] : null;
        const expires_at = isoOrNull(token?.expires_at ?? null);
        const storedPerson = access.person && (await store.getPerson(access.person));
        const person = storedPerson ? viewPerson(storedPerson, token?.roles, avatarOrigins) : null;
        return {
          json: { id, name, scopes, tenant, tenants, person, expires_at, hub: hubInfo(origin) },
        };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/session",
      summary: "Sign out: end the session",
      tag,
      scope: "any",
      isShared: true,
      response: { status: 204 },
      async handle({ access, header }) {
        const session = await store.getToken(access.token);
        if (session?.kind !== "session")
          throw new RequestError(
            "invalid",
            "session",
            "the request has a token, not a session: DELETE /api/tokens/ID revokes a token",
          );
        await store.revokeToken(session.id, now());
        return new Response(null, {
          status: 204,
          headers: { "set-cookie": cookie.clear({ get: header }) },
        });
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/session/links",
      summary:
        "Create a link that signs a browser in once. The session has the scopes and tenants of the caller's token, and ends with the token",
      tag,
      scope: "any",
      isShared: true,
      response: { status: 201, schema: linkView },
      async handle({ access, origin }) {
        const token = await tokens.getToken(access.token);
        // The authorizer caches a token for a second; a session lives for days.
        if (!token || !grants(token, access, now()))
          throw new RequestError("forbidden", "token", "was revoked or has expired");
        // A token of an OAuth client is valid for one audience, but a session is valid for the whole hub.
        if (token.kind === "oauth")
          throw new RequestError(
            "forbidden",
            "token",
            "belongs to an OAuth client, which cannot create sign-in links",
          );
        // Otherwise any GitHub user could send a link that signs its recipient in as the sender.
        if (token.person !== null)
          throw new RequestError(
            "forbidden",
            "token",
            "belongs to a person, who cannot create sign-in links: sign in with GitHub",
          );
        const isStored = (await store.getToken(token.id)) !== undefined;
        const code = await sessions.createCode(sessionAccessOf(token, isStored));
        return {
          status: 201,
          json: {
            url: `${hubInfo(origin).url}${signInPath(code)}`,
            expires_at: iso(now() + CODE_MS),
          },
        };
      },
    }),
  ];
}

/** `POST /api/session`. It is not in `sessionRoutes`, because a browser calls it without a session. */
export const signInRoute: RouteDescription = {
  method: "post",
  path: "/api/session",
  summary: "Sign in with the code of a link; the response sets the session cookie",
  tag,
  scope: undefined,
  body: signInBody,
  response: { status: 204, headers: { "set-cookie": "The session." } },
};

const MAX_BYTES = 1024;

const UNKNOWN_CODE = new Denied(
  401,
  "code_unknown",
  "The link was used, has expired, or is from another hub. `npx signalbox open` prints a new link.",
);

export interface SignInOptions {
  sessions: Sessions;
  checkHost: HostCheck;
  publicUrl?: string | undefined;
}

export function addSignInRoute(app: Hono, { sessions, checkHost, publicUrl }: SignInOptions): void {
  const cookie = createSessionCookie(publicUrl);
  app.post(signInRoute.path, async (c) => {
    const origin = c.req.header("origin");
    const denied =
      checkHost(c.req.header("host") ?? "", origin) ?? (origin ? undefined : NO_ORIGIN);
    if (denied) return deniedResponse(denied);
    try {
      const body = await readJson(c.req.raw.body, MAX_BYTES);
      const { code } = signInBody.parse(body === TOO_LARGE ? undefined : body);
      const session = await sessions.open(code);
      if (!session) return deniedResponse(UNKNOWN_CODE);
      const former = cookie.read(c.req.raw.headers);
      if (former !== undefined) await sessions.end(former);
      return new Response(null, {
        status: 204,
        headers: [
          ["cache-control", "no-store"],
          ...cookie
            .set(c.req.raw, session.secret, session.maxAgeMs)
            .map((value): [string, string] => ["set-cookie", value]),
        ],
      });
    } catch (error) {
      return errorResponse(error);
    }
  });
}
