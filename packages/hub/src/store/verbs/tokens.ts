/** Access tokens. Only their SHA-256 hash is stored. */
import { first, query, type Value, type Verb } from "../sql.ts";
import type { Scope, Token } from "../store.ts";

interface TokenRow extends Omit<Token, "scopes" | "tenants"> {
  scopes: string;
  tenants: string;
}

const SELECT_TOKEN =
  "SELECT id, name, hash, scopes, tenants, created_at, expires_at, revoked_at FROM tokens";

const toToken = (row: TokenRow): Token => ({
  ...row,
  scopes: JSON.parse(row.scopes) as Scope[],
  tenants: JSON.parse(row.tenants) as string[],
});

const values = (token: Omit<Token, "revoked_at">): Value[] => [
  token.id,
  token.name,
  token.hash,
  JSON.stringify(token.scopes),
  JSON.stringify(token.tenants),
  token.created_at,
  token.expires_at,
];

export function* putToken(token: Omit<Token, "revoked_at">): Verb<boolean> {
  const rows = yield* query(
    "INSERT INTO tokens (id, name, hash, scopes, tenants, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?) " +
      "ON CONFLICT DO NOTHING RETURNING id",
    values(token),
  );
  return rows.length > 0;
}

export function* replaceTokens(
  prefix: string,
  token: Omit<Token, "revoked_at"> | undefined,
  at: number,
): Verb<void> {
  yield* query(
    "UPDATE tokens SET revoked_at = ? WHERE substr(id, 1, ?) = ? AND hash <> ? AND revoked_at IS NULL",
    [at, prefix.length, prefix, token?.hash ?? ""],
  );
  if (!token) return;
  yield* query(
    "INSERT INTO tokens (id, name, hash, scopes, tenants, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?) " +
      "ON CONFLICT (hash) DO UPDATE SET id = excluded.id, name = excluded.name, scopes = excluded.scopes, " +
      "tenants = excluded.tenants, expires_at = excluded.expires_at, revoked_at = NULL",
    values(token),
  );
}

export function* findToken(hash: string): Verb<Token | undefined> {
  const row = yield* first<TokenRow>(`${SELECT_TOKEN} WHERE hash = ?`, [hash]);
  return row && toToken(row);
}

export function* getToken(id: string): Verb<Token | undefined> {
  const row = yield* first<TokenRow>(`${SELECT_TOKEN} WHERE id = ?`, [id]);
  return row && toToken(row);
}

export function* listTokens(): Verb<Token[]> {
  return (yield* query<TokenRow>(`${SELECT_TOKEN} ORDER BY created_at, id`)).map(toToken);
}

export function* revokeToken(id: string, at: number): Verb<boolean> {
  const rows = yield* query(
    "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id",
    [at, id],
  );
  return rows.length > 0;
}
