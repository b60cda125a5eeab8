/** Secrets of flows, encrypted by the caller. */
import type { SecretStore } from "../secret-store.ts";
import { type Dialect, first, inLists, query, type Verb } from "../sql.ts";

export function* putSecret(tenant: string, name: string, sealed: string, at: number): Verb<void> {
  yield* query(
    "INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at) VALUES (?, ?, ?, ?, ?) " +
      "ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
    [tenant, name, sealed, at, at],
  );
}

export function* listSecretNames(
  tenant: string,
): Verb<Awaited<ReturnType<SecretStore["listSecretNames"]>>> {
  return yield* query(
    "SELECT name, created_at, updated_at FROM secrets WHERE tenant_id = ? ORDER BY name",
    [tenant],
  );
}

export function* getSecrets(
  dialect: Dialect,
  tenant: string,
  names: readonly string[],
): Verb<Record<string, string>> {
  const found: [string, string][] = [];
  for (const { list, params } of inLists(names, dialect, 1))
    for (const { name, sealed } of yield* query<{ name: string; sealed: string }>(
      `SELECT name, sealed FROM secrets WHERE tenant_id = ? AND name IN ${list}`,
      [tenant, ...params],
    ))
      found.push([name, sealed]);
  return Object.fromEntries(found);
}

export function* deleteSecret(tenant: string, name: string): Verb<boolean> {
  const deleted = yield* first(
    "DELETE FROM secrets WHERE tenant_id = ? AND name = ? RETURNING name",
    [tenant, name],
  );
  return deleted !== undefined;
}

/** The encrypted columns. The sample is the last row by `order`: the newest one, if that is a time. */
const SEALED = [
  { kind: "webhook secrets", table: "source_secrets", column: "sealed", order: "created_at" },
  { kind: "secrets of flows", table: "secrets", column: "sealed", order: "updated_at" },
  { kind: "people", table: "people", column: "sealed", order: "checked_at" },
  { kind: "connections", table: "connections", column: "sealed", order: "id" },
  {
    kind: "grants of connections",
    table: "connection_grants",
    column: "sealed",
    order: "connection_id",
  },
  { kind: "subscriptions", table: "subscriptions", column: "secret", order: "updated_at" },
];

export function* sampleSealed(): Verb<{ kind: string; sealed: string }[]> {
  const samples: { kind: string; sealed: string }[] = [];
  for (const { kind, table, column, order } of SEALED) {
    const newest = yield* first<{ sealed: string }>(
      `SELECT ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL ORDER BY ${order} DESC LIMIT 1`,
    );
    if (newest) samples.push({ kind, sealed: newest.sealed });
  }
  return samples;
}
