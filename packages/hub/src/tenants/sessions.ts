/**
 * Sign-in to the web UI. A link contains a code, which is exchanged once for a session. Codes and
 * sessions are stored as hashes, like tokens.
 */
import { sha256Hex } from "../lib/hmac.ts";
import { RequestError } from "../lib/request-error.ts";
import type { Scope, Store, Token } from "../store/store.ts";
import { grants } from "./authorizer.ts";
import type { TokenLookup } from "./local-token.ts";
import { EVERY_TENANT, randomSecret } from "./tokens.ts";

export const CODE_MS = 10 * 60_000;
const SESSION_MS = 30 * 24 * 3_600_000;
/** The links and sessions of one token. They count until they expire, also if they have ended. */
const MAX_PER_TOKEN = 1_000;

export interface SessionsOptions {
  store: Pick<Store, "countChildren" | "findToken" | "putToken" | "revokeToken">;
  /** For the tokens that have created links. */
  tokens: Pick<TokenLookup, "getToken">;
  newId: () => string;
  now: () => number;
}

/** What the sessions of a code may do. */
export interface Grant {
  scopes: Scope[];
  tenants: string[];
  /** The stored token whose revocation ends the sessions. */
  parent: string | null;
  /** The person whose memberships limit the sessions; null for the operator. */
  person: string | null;
}

interface OpenSession {
  id: string;
  secret: string;
  maxAgeMs: number;
}

/** For the operator, who can read the hub's output. */
export const OPERATOR: Grant = {
  scopes: ["admin"],
  tenants: [EVERY_TENANT],
  parent: null,
  person: null,
};

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions({ store, tokens, newId, now }: SessionsOptions) {
  const put = async (kind: "sign_in" | "session", name: string, grant: Grant, until: number) => {
    const secret = randomSecret("");
    const { scopes, tenants, parent, person } = grant;
    const token = { id: newId(), kind, parent, name, scopes, tenants, person };
    await store.putToken({
      ...token,
      hash: await sha256Hex(secret),
      created_at: now(),
      expires_at: until,
    });
    return { id: token.id, secret };
  };

  return {
    /** Returns a code that is valid once, for `CODE_MS`. */
    async createCode(grant: Grant): Promise<string> {
      const { parent } = grant;
      if (parent !== null && (await store.countChildren(parent)) >= MAX_PER_TOKEN)
        throw new RequestError(
          "busy",
          "token",
          `has ${MAX_PER_TOKEN} links and sessions, which is the limit: use another token, or wait until some have expired`,
        );
      return (await put("sign_in", "sign-in link", grant, now() + CODE_MS)).secret;
    },

    /** Undefined if the code is unknown, has expired or was used. */
    async open(code: string): Promise<OpenSession | undefined> {
      const found = await store.findToken(await sha256Hex(code));
      if (found?.kind !== "sign_in" || (found.expires_at ?? 0) <= now()) return undefined;
      const parent = found.parent === null ? undefined : await tokens.getToken(found.parent);
      // Atomic: of several requests with one code, one gets a session.
      if (!(await store.revokeToken(found.id, now()))) return undefined;
      const until = Math.min(now() + SESSION_MS, parent?.expires_at ?? Number.POSITIVE_INFINITY);
      const session = await put("session", "web UI", found, until);
      if (found.parent !== null) {
        // After the session is stored: a revocation before this read is seen here, and a later one
        // revokes the session.
        const stored = await tokens.getToken(found.parent);
        if (!grants(stored, found, now())) {
          await store.revokeToken(session.id, now());
          return undefined;
        }
      }
      return { ...session, maxAgeMs: until - now() };
    },

    /** A session of a person who has signed in with GitHub, in all tenants of the person. */
    async openFor(person: { id: string; login: string }): Promise<OpenSession> {
      const grant: Grant = { ...OPERATOR, person: person.id };
      const session = await put("session", `web UI of ${person.login}`, grant, now() + SESSION_MS);
      return { ...session, maxAgeMs: SESSION_MS };
    },

    /** Ends the session that a browser had before it signed in again. */
    async end(secret: string): Promise<void> {
      const found = await store.findToken(await sha256Hex(secret));
      if (found?.kind === "session") await store.revokeToken(found.id, now());
    },
  };
}

/** The sessions of a link may do what the token that created it may do. */
export const grantOf = (
  { id, kind, parent, scopes, tenants, person }: Token,
  isStored: boolean,
): Grant => ({
  scopes,
  tenants,
  person,
  parent: kind === "session" ? parent : isStored ? id : null,
});
