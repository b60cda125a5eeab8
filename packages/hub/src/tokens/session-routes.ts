/** Routes of sessions: sign-in to the web UI by a link with a one-time code, sign-out, and the hub's description. */
import {
  hubInfoApi,
  type hubInfoView,
  sessionApi,
  type sessionView,
  signInApi,
} from "@signalbox/contract/session.ts";
import type { Hono } from "hono";
import type { z } from "zod";
import { NO_ORIGIN } from "../kernel/access/authorize-request.ts";
import { Denied, grants } from "../kernel/access/authorizer.ts";
import type { GrantedToken, TokenLookup } from "../kernel/access/scopes.ts";
import { allowedAvatar } from "../kernel/http/avatars.ts";
import { createSessionCookie } from "../kernel/http/cookie.ts";
import type { HostCheck } from "../kernel/http/host-check.ts";
import { iso, isoOrNull } from "../kernel/http/paging.ts";
import { deniedResponse, errorResponse } from "../kernel/http/problem-response.ts";
import { readJson, TOO_LARGE } from "../kernel/http/read-json.ts";
import { implement, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import { CODE_MS, sessionAccessOf, type WebSessions } from "./web-sessions.ts";

const viewPerson = (
  { login, name, avatar }: { login: string; name: string | null; avatar: string | null },
  roles: GrantedToken["roles"],
  avatarOrigins: readonly string[],
): z.output<typeof sessionView>["person"] => ({
  login,
  name,
  avatar_url: allowedAvatar(avatar, avatarOrigins),
  roles: roles instanceof Map ? Object.fromEntries(roles) : {},
});

export interface SessionRoutes {
  sessions: WebSessions;
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
    implement(sessionApi.get, async ({ access, origin }) => {
      const token = await tokens.getToken(access.token);
      const { token: id, name, scopes, tenants } = access;
      const tenant = tenants.length === 1 ? (tenants[0] ?? null) : null;
      const expires_at = isoOrNull(token?.expires_at ?? null);
      const storedPerson = access.person && (await store.getPerson(access.person));
      const person = storedPerson ? viewPerson(storedPerson, token?.roles, avatarOrigins) : null;
      return {
        json: { id, name, scopes, tenant, tenants, person, expires_at, hub: hubInfo(origin) },
      };
    }),
    implement(sessionApi.signOut, async ({ access, header }) => {
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
    }),
    implement(sessionApi.createLink, async ({ access, origin }) => {
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
        json: {
          url: `${hubInfo(origin).url}${signInPath(code)}`,
          expires_at: iso(now() + CODE_MS),
        },
      };
    }),
  ];
}

const MAX_BYTES = 1024;

const UNKNOWN_CODE = new Denied(
  401,
  "code_unknown",
  "The link was used, has expired, or is from another hub. `npx signalbox open` prints a new link.",
);

export interface SignInOptions {
  sessions: WebSessions;
  checkHost: HostCheck;
  publicUrl?: string | undefined;
}

export function addSignInRoute(app: Hono, { sessions, checkHost, publicUrl }: SignInOptions): void {
  const cookie = createSessionCookie(publicUrl);
  app.post(signInApi.signIn.path, async (c) => {
    const origin = c.req.header("origin");
    const denied =
      checkHost(c.req.header("host") ?? "", origin) ?? (origin ? undefined : NO_ORIGIN);
    if (denied) return deniedResponse(denied);
    try {
      const body = await readJson(c.req.raw.body, MAX_BYTES);
      const { code } = signInApi.signIn.body.parse(body === TOO_LARGE ? undefined : body);
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

type HubInfo = z.input<typeof hubInfoView>;

/** `origin` is that of the request; it is used if the hub has no public URL. */
export type GetHubInfo = (origin: string) => HubInfo;

export const hubInfoRoute = (hubInfo: GetHubInfo): Route =>
  implement(hubInfoApi.get, async ({ origin }) => ({ json: hubInfo(origin) }));
