/** Access tokens, sign-in codes and sessions. Only their SHA-256 hash is stored. */

import type { Scope, Token } from "../kernel/access/scopes.ts";
import { columnsOf, type RowOf } from "../kernel/store/schema.ts";
import {
  execute,
  first,
  inLists,
  insert,
  query,
  type Value,
  type Verb,
} from "../kernel/store/sql.ts";
import { read, write } from "../kernel/store/verb.ts";
import type { NewStoredToken, TokenQuery } from "./model.ts";
import { tokenTables } from "./tables.ts";

export * from "./tables.ts";

const { tokens } = tokenTables;
type TokenRow = RowOf<typeof tokens>;

const SELECT_TOKEN = `SELECT ${columnsOf(tokens)} FROM tokens`;

const toToken = (row: TokenRow): Token => ({
  ...row,
  scopes: JSON.parse(row.scopes) as Scope[],
  tenants: JSON.parse(row.tenants) as string[],
});

const INSERTED = columnsOf(tokens, ["revoked_at", "last_used_at"]);
const INSERT_TOKEN = `INSERT INTO tokens (${INSERTED}) VALUES (${INSERTED.map(() => "?")})`;

function toValues(token: NewStoredToken): Value[] {
  const { kind = "token", parent = null, person = null, resource = null } = token;
  const lists = { scopes: JSON.stringify(token.scopes), tenants: JSON.stringify(token.tenants) };
  const row = { ...token, kind, parent, person, resource, ...lists };
  return INSERTED.map((name) => row[name]);
}

/** False if a token with this id or hash exists; that token is not changed. */
export const putToken = write("registry", function* (token: NewStoredToken): Verb<boolean> {
  const rows = yield* query(`${INSERT_TOKEN} ON CONFLICT DO NOTHING RETURNING id`, toValues(token));
  if (rows.length > 0) yield* indexTenants([token]);
  return rows.length > 0;
});

/** `token_tenants` is an index: it finds the tokens of one tenant. */
const indexTenants = (tokens: readonly Pick<Token, "id" | "tenants">[]): Verb<void> =>
  insert(
    "token_tenants",
    ["tenant_id", "token_id"],
    tokens.flatMap(({ id, tenants }) => [...new Set(tenants)].map((tenant) => [tenant, id])),
    "ON CONFLICT DO NOTHING",
  );

function* removeFromIndex(tokens: readonly Pick<TokenRow, "id" | "tenants">[]): Verb<void> {
  for (const { id, tenants } of tokens)
    for (const tenant of JSON.parse(tenants) as string[])
      yield* execute("DELETE FROM token_tenants WHERE tenant_id = ? AND token_id = ?", [
        tenant,
        id,
      ]);
}

/**
 * If `token` is set, makes it valid, even if it was revoked before or was stored under another id.
 * Revokes all other tokens whose ids begin with `prefix`. The codes, sessions and OAuth grants that the revoked tokens
 * created are revoked too.
 */
export const replaceTokens = write(
  "registry",
  function* (prefix: string, token: NewStoredToken | undefined, at: number): Verb<void> {
    const revoked = yield* query<{ id: string }>(
      "UPDATE tokens SET revoked_at = ? WHERE substr(id, 1, ?) = ? AND hash <> ? AND revoked_at IS NULL RETURNING id",
      [at, prefix.length, prefix, token?.hash ?? ""],
    );
    for (const { id } of revoked) yield* revokeChildren(id, at);
    if (!token) return;
    // If the token is stored, the statement below changes its id and tenants.
    yield* removeFromIndex(
      yield* query<TokenRow>("SELECT id, tenants FROM tokens WHERE hash = ?", [token.hash]),
    );
    yield* query(
      `${INSERT_TOKEN} ` +
        "ON CONFLICT (hash) DO UPDATE SET id = excluded.id, name = excluded.name, scopes = excluded.scopes, " +
        "tenants = excluded.tenants, expires_at = excluded.expires_at, revoked_at = NULL",
      toValues(token),
    );
    yield* indexTenants([token]);
  },
);

export const findToken = read("registry", function* (hash: string): Verb<Token | undefined> {
  const row = yield* first<TokenRow>(`${SELECT_TOKEN} WHERE hash = ?`, [hash]);
  return row && toToken(row);
});

export const getToken = read("registry", function* (id: string): Verb<Token | undefined> {
  const row = yield* first<TokenRow>(`${SELECT_TOKEN} WHERE id = ?`, [id]);
  return row && toToken(row);
});

/** Sorted by id, descending: the newest first. */
export const listTokens = read(
  "registry",
  function* ({ kind = "token", tenant, person, before, limit }: TokenQuery): Verb<Token[]> {
    const conditions: [string, Value][] = [["kind = ?", kind]];
    if (tenant !== undefined)
      conditions.push(["id IN (SELECT token_id FROM token_tenants WHERE tenant_id = ?)", tenant]);
    if (person !== undefined) conditions.push(["person = ?", person]);
    if (before !== undefined) conditions.push(["id < ?", before]);
    const rows = yield* query<TokenRow>(
      `${SELECT_TOKEN} WHERE ${conditions.map(([sql]) => sql).join(" AND ")} ORDER BY id DESC LIMIT ?`,
      [...conditions.map(([, value]) => value), limit],
    );
    return rows.map(toToken);
  },
);

/**
 * Also revokes the codes, sessions and OAuth grants that the token created. False if the token does
 * not exist or is already revoked: only one of several concurrent calls returns true.
 */
export const revokeToken = write("registry", function* (id: string, at: number): Verb<boolean> {
  const rows = yield* query(
    "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id",
    [at, id],
  );
  if (rows.length > 0) yield* revokeChildren(id, at);
  return rows.length > 0;
});

/** Revokes the sessions, OAuth grants and access tokens that a token or a grant has created. */
export function* revokeChildren(parent: string, at: number): Verb<void> {
  const revoke = (id: string) =>
    execute("UPDATE tokens SET revoked_at = ? WHERE parent = ? AND revoked_at IS NULL", [at, id]);
  yield* revoke(parent);
  const grants = yield* query<{ id: string }>(
    "UPDATE oauth_grants SET status = 'revoked' WHERE parent = ? AND status IN ('approved', 'active') RETURNING id",
    [parent],
  );
  for (const { id } of grants) yield* revoke(id);
}

/**
 * The number of stored codes and sessions that a token has created, including revoked and expired
 * ones.
 */
export const countChildren = read("registry", function* (parent: string): Verb<number> {
  const row = yield* first<{ count: number }>(
    "SELECT count(*) AS count FROM tokens WHERE parent = ?",
    [parent],
  );
  return Number(row?.count);
});

/** Records that these tokens were used at `at`. Ignores a time before the recorded one. */
export const touchTokens = write(
  "registry",
  function* (ids: readonly string[], at: number): Verb<void> {
    for (const { list, params } of inLists(ids, this.dialect, 2))
      yield* query(
        `UPDATE tokens SET last_used_at = ? WHERE id IN ${list} AND coalesce(last_used_at, 0) < ?`,
        [at, ...params, at],
      );
  },
);

/** Removes codes, sessions and OAuth tokens that expired before this time. Returns their number. */
export const sweepSessions = write(
  "registry",
  function* (expiredBefore: number, limit: number): Verb<number> {
    const removed = yield* query<TokenRow>(
      "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE kind <> 'token' AND expires_at < ? " +
        "ORDER BY expires_at LIMIT ?) RETURNING id, tenants",
      [expiredBefore, limit],
    );
    yield* removeFromIndex(removed);
    return removed.length;
  },
);
