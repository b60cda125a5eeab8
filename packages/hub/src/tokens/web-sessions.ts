/**
 * Sign-in to the web UI. A link contains a code, which is exchanged once for a session. Codes and
 * sessions are stored as hashes, like tokens.
 */

import { grants } from "../kernel/access/authorizer.ts";
import { EVERY_TENANT, type Scope, type Token, type TokenLookup } from "../kernel/access/scopes.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { randomSecret } from "../kernel/lib/random-secret.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";

export const CODE_MS = 10 * 60_000;
const SESSION_MS = 30 * 24 * 3_600_000;
/**
 * The maximum number of links and sessions per token. Each counts until it expires, even if it has
 * ended.
 */
const MAX_PER_TOKEN = 1_000;

export interface WebSessionsOptions {
  store: Pick<Store, "countChildren" | "findToken" | "putToken" | "revokeToken">;
  /** Looks up the tokens that have created links. */
  tokens: Pick<TokenLookup, "getToken">;
  newId: () => string;
  now: () => number;
}

/** The access that a sign-in link gives to its session. */
export interface SessionAccess {
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

/** The access of the operator, the only one who can read the links in the hub's output. */
export const OPERATOR: SessionAccess = {
  scopes: ["admin"],
  tenants: [EVERY_TENANT],
  parent: null,
  person: null,
};

export type WebSessions = ReturnType<typeof createWebSessions>;

export function createWebSessions({ store, tokens, newId, now }: WebSessionsOptions) {
  const putSecret = async (
    kind: "sign_in" | "session",
    name: string,
    access: SessionAccess,
    until: number,
  ) => {
    const secret = randomSecret("");
    const { scopes, tenants, parent, person } = access;
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
    async createCode(access: SessionAccess): Promise<string> {
      const { parent } = access;
      if (parent !== null && (await store.countChildren(parent)) >= MAX_PER_TOKEN)
        throw new RequestError(
          "busy",
          "token",
          `has ${MAX_PER_TOKEN} links and sessions, which is the limit: use another token, or wait until some have expired`,
        );
      return (await putSecret("sign_in", "sign-in link", access, now() + CODE_MS)).secret;
    },

    /**
     * Exchanges a code for a session. Returns undefined if the code is unknown, has expired or was
     * used.
     */
    async open(code: string): Promise<OpenSession | undefined> {
      const link = await store.findToken(await sha256Hex(code));
      if (link?.kind !== "sign_in" || (link.expires_at ?? 0) <= now()) return undefined;
      const parent = link.parent === null ? undefined : await tokens.getToken(link.parent);
      // Atomic, so that only one of several requests with the same code gets a session.
      if (!(await store.revokeToken(link.id, now()))) return undefined;
      const until = Math.min(now() + SESSION_MS, parent?.expires_at ?? Number.POSITIVE_INFINITY);
      const session = await putSecret("session", "web UI", link, until);
      if (link.parent !== null) {
        // Read again after the session is stored: this read finds an earlier revocation of the parent,
        // and a later revocation also revokes the session.
        const currentParent = await tokens.getToken(link.parent);
        if (!grants(currentParent, link, now())) {
          await store.revokeToken(session.id, now());
          return undefined;
        }
      }
      return { ...session, maxAgeMs: until - now() };
    },

    /** Opens a session of a person who has signed in with GitHub, for all tenants of the person. */
    async openFor(person: { id: string; login: string }): Promise<OpenSession> {
      const access: SessionAccess = { ...OPERATOR, person: person.id };
      const session = await putSecret(
        "session",
        `web UI of ${person.login}`,
        access,
        now() + SESSION_MS,
      );
      return { ...session, maxAgeMs: SESSION_MS };
    },

    /** Ends the session that a browser had before it signed in again. */
    async end(secret: string): Promise<void> {
      const session = await store.findToken(await sha256Hex(secret));
      if (session?.kind === "session") await store.revokeToken(session.id, now());
    },
  };
}

/** Returns the access of a link, which is that of the token that creates it. */
export const sessionAccessOf = (
  { id, kind, parent, scopes, tenants, person }: Token,
  isStored: boolean,
): SessionAccess => ({
  scopes,
  tenants,
  person,
  parent: kind === "session" ? parent : isStored ? id : null,
});
