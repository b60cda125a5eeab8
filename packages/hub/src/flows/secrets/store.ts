/** Secrets of flows, encrypted by the caller. */

import { first, inLists, query, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";

/** Creates or replaces a secret. The caller encrypts the value; see kernel/lib/seal.ts. */
export const putSecret = write(
  "tenant",
  function* (tenant: string, name: string, sealed: string, at: number): Verb<void> {
    yield* query(
      "INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at) VALUES (?, ?, ?, ?, ?) " +
        "ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
      [tenant, name, sealed, at, at],
    );
  },
);

export const listSecretNames = read("tenant", function* (tenant: string) {
  return yield* query<{ name: string; created_at: number; updated_at: number }>(
    "SELECT name, created_at, updated_at FROM secrets WHERE tenant_id = ? ORDER BY name",
    [tenant],
  );
});

/** Returns the encrypted values of those names that exist. */
export const getSecrets = read("tenant", function* (tenant: string, names: readonly string[]): Verb<
  Record<string, string>
> {
  const found: [string, string][] = [];
  for (const { list, params } of inLists(names, this.dialect, 1))
    for (const { name, sealed } of yield* query<{ name: string; sealed: string }>(
      `SELECT name, sealed FROM secrets WHERE tenant_id = ? AND name IN ${list}`,
      [tenant, ...params],
    ))
      found.push([name, sealed]);
  return Object.fromEntries(found);
});

/** False if the secret does not exist. */
export const deleteSecret = write(
  "tenant",
  function* (tenant: string, name: string): Verb<boolean> {
    const deleted = yield* first(
      "DELETE FROM secrets WHERE tenant_id = ? AND name = ? RETURNING name",
      [tenant, name],
    );
    return deleted !== undefined;
  },
);

/** The encrypted columns. The sample is the last row by `order`: the newest one, if that is a time. */
const SEALED: readonly {
  kind: string;
  table: string;
  column: string;
  key: readonly string[];
  /** Undefined: no sample is taken. */
  order?: string;
}[] = [
  {
    kind: "webhook secrets",
    table: "source_secrets",
    column: "sealed",
    key: ["id"],
    order: "created_at",
  },
  {
    kind: "secrets of flows",
    table: "secrets",
    column: "sealed",
    key: ["tenant_id", "name"],
    order: "updated_at",
  },
  { kind: "people", table: "people", column: "sealed", key: ["id"], order: "checked_at" },
  { kind: "connections", table: "connections", column: "sealed", key: ["id"], order: "id" },
  { kind: "former servers", table: "connections", column: "former", key: ["id"] },
  {
    kind: "grants of connections",
    table: "connection_grants",
    column: "sealed",
    key: ["connection_id"],
    order: "connection_id",
  },
  {
    kind: "pending authorizations",
    table: "connection_grants",
    column: "state_sealed",
    key: ["connection_id"],
  },
  {
    kind: "subscriptions",
    table: "subscriptions",
    column: "secret",
    key: ["id"],
    order: "updated_at",
  },
  {
    kind: "former secrets of subscriptions",
    table: "subscriptions",
    column: "former_secret",
    key: ["id"],
  },
];

/** One encrypted value of each kind. The hub decrypts them to check its encryption key. */
export const sampleSealed = read("own", function* (): Verb<{ kind: string; sealed: string }[]> {
  const samples: { kind: string; sealed: string }[] = [];
  for (const { kind, table, column, order } of SEALED) {
    if (order === undefined) continue;
    const newest = yield* first<{ sealed: string }>(
      `SELECT ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL ORDER BY ${order} DESC LIMIT 1`,
    );
    if (newest) samples.push({ kind, sealed: newest.sealed });
  }
  return samples;
});

const nameOf = ({ table, column }: (typeof SEALED)[number]) => `${table}.${column}`;

export const sealedColumns = SEALED.map(nameOf);

/** A page of all sealed texts. It continues after `after`, and is empty at the end. */
export const listSealed = read(
  "own",
  function* (after: Omit<SealedText, "text"> | undefined, limit: number): Verb<SealedText[]> {
    const start = after ? SEALED.findIndex((place) => nameOf(place) === after.column) : 0;
    for (const place of SEALED.slice(start)) {
      const { table, column, key } = place;
      const position = after?.column === nameOf(place) ? after.key : undefined;
      const isLater = position ? ` AND (${key}) > (${key.map(() => "?")})` : "";
      const rows = yield* query<Record<string, string>>(
        `SELECT ${key}, ${column} AS sealed_text FROM ${table} WHERE ${column} IS NOT NULL${isLater} ORDER BY ${key} LIMIT ?`,
        [...(position ?? []), limit],
      );
      if (rows.length > 0)
        return rows.map((row) => ({
          column: nameOf(place),
          key: key.map((name) => row[name] as string),
          text: row.sealed_text as string,
        }));
    }
    return [];
  },
);

/** Replaces those texts that have not changed meanwhile, and returns their number. */
export const replaceSealed = write(
  "own",
  function* (changes: readonly (SealedText & { by: string })[]): Verb<number> {
    let replaced = 0;
    for (const { column: name, key, text, by } of changes) {
      const place = SEALED.find((candidate) => nameOf(candidate) === name);
      if (!place) throw new Error(`unknown column ${name}`);
      const condition = [...place.key, place.column].map((field) => `${field} = ?`).join(" AND ");
      const rows = yield* query(
        `UPDATE ${place.table} SET ${place.column} = ? WHERE ${condition} RETURNING 1 AS one`,
        [by, ...key, text],
      );
      replaced += rows.length;
    }
    return replaced;
  },
);

/** A sealed text of the database, or JSON with several, and its place. */
export interface SealedText {
  /** TABLE.COLUMN */
  column: string;
  /** The primary key of the row. */
  key: string[];
  text: string;
}
