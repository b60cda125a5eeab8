/** Rows of connections and their offers. */

import { concat, utf8 } from "../../kernel/lib/bytes.ts";
import { columnsOf, type RowOf } from "../../kernel/store/schema.ts";
import {
  type Dialect,
  first,
  insert,
  notify,
  query,
  type Value,
  type Verb,
} from "../../kernel/store/sql.ts";
import type { Connection, FormerServer, Offers } from "../model.ts";
import { connectionTables } from "../tables.ts";

const { connections } = connectionTables;
/** Columns that no `Connection` has. */
const INTERNAL = ["due_at", "touched_at", "leased_by", "former"] as const;

export const CONNECTION_FIELDS = columnsOf(connections, INTERNAL).join(", ");
export type ConnectionRow = Omit<RowOf<typeof connections>, (typeof INTERNAL)[number]>;

/** Parses the column `former`, which is not one of `CONNECTION_FIELDS`. */
export const parseFormer = (former: string): FormerServer[] => JSON.parse(former) as FormerServer[];

export const toConnection = ({ tenant_id, ...row }: ConnectionRow): Connection => ({
  ...row,
  tenant: tenant_id,
  target: JSON.parse(row.target) as Connection["target"],
  credentials: JSON.parse(row.credentials) as Connection["credentials"],
  deleted: row.deleted === 1,
});

/**
 * Makes a connection due at `at`, unless it is due earlier, and notifies the keepers. During a lease
 * the time is only recorded; `finishConnection` makes the connection due.
 */
export function* makeDue(id: string, at: number): Verb<void> {
  const earlier = (column: string) => `CASE WHEN ${column} < ? THEN ${column} ELSE ? END`;
  const touched = yield* first(
    `UPDATE connections SET next_at = ${earlier("next_at")}, touched_at = ${earlier("touched_at")}, ` +
      `due_at = CASE WHEN leased_by IS NULL THEN ${earlier("due_at")} ELSE due_at END ` +
      "WHERE id = ? RETURNING id",
    [at, at, at, at, at, at, id],
  );
  if (touched) yield* notify({ topic: "connections", due: at });
}

/** Locks the connection, even if it is marked as deleted, and returns it. */
export function* lockConnection(
  dialect: Dialect,
  tenant: string,
  id: string,
): Verb<Connection | undefined> {
  const row = yield* first<ConnectionRow>(
    `SELECT ${CONNECTION_FIELDS} FROM connections WHERE id = ? AND tenant_id = ?${dialect.forUpdate}`,
    [id, tenant],
  );
  return row && toConnection(row);
}

export function* removeConnection(id: string): Verb<void> {
  yield* query("DELETE FROM connections WHERE id = ?", [id]);
  yield* query("DELETE FROM connection_offers WHERE connection_id = ?", [id]);
  yield* query("DELETE FROM connection_grants WHERE connection_id = ?", [id]);
}

export function* putOffers({ maxBlob }: Dialect, connection: string, offers: Offers): Verb<void> {
  yield* query("DELETE FROM connection_offers WHERE connection_id = ?", [connection]);
  const body = utf8(JSON.stringify(offers));
  const rows: Value[][] = [];
  for (let part = 0; part * maxBlob < body.byteLength; part += 1)
    rows.push([connection, part, body.subarray(part * maxBlob, (part + 1) * maxBlob)]);
  yield* insert("connection_offers", ["connection_id", "part", "body"], rows);
}

export function* readOffers(connection: string): Verb<Offers | undefined> {
  const parts = yield* query<{ body: Uint8Array | ArrayBuffer }>(
    "SELECT body FROM connection_offers WHERE connection_id = ? ORDER BY part",
    [connection],
  );
  if (parts.length === 0) return undefined;
  const body = concat(parts.map(({ body }) => new Uint8Array(body)));
  return JSON.parse(new TextDecoder().decode(body)) as Offers;
}
