/**
 * An earlier Worker had classes with the same names, and tables whose names the hub uses too. Its tables
 * are set aside as `earlier_…`, and its events are migrated. They are deleted with their tenant.
 */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { sanitizeSummary } from "../../ingest/sanitize-summary.ts";
import { github } from "../../ingest/sources/github.ts";
import { utf8 } from "../../lib/hmac.ts";
import type { ObjectStorage } from "../../store/backends/durable-object.ts";
import type { NewEvent, Store } from "../../store/store.ts";

const PREFIX = "earlier_";
const EVENTS = `${PREFIX}events`;
const MIGRATED = "migrated_events";
const BATCH = 100;

const namesOf = ({ sql }: ObjectStorage, type: "table" | "index"): string[] =>
  sql
    .exec(
      "SELECT name FROM sqlite_master WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
      type,
    )
    .toArray()
    .map(({ name }) => String(name));

/** Renames the tables of an earlier Worker. Must be called before the store is opened. */
export function setAsideEarlierTables(storage: ObjectStorage): void {
  const tables = namesOf(storage, "table");
  if (tables.includes("schema_version")) return;
  storage.transactionSync(() => {
    for (const index of namesOf(storage, "index")) storage.sql.exec(`DROP INDEX "${index}"`);
    for (const table of tables.filter((name) => !name.startsWith(PREFIX)))
      storage.sql.exec(`ALTER TABLE "${table}" RENAME TO "${PREFIX}${table}"`);
  });
}

const earlierTables = (storage: ObjectStorage): string[] =>
  namesOf(storage, "table").filter((name) => name.startsWith(PREFIX) || name === MIGRATED);

/** Deletes the tables of an earlier Worker, in an object of one tenant. */
export function dropEarlierTables(storage: ObjectStorage): void {
  for (const table of earlierTables(storage)) storage.sql.exec(`DROP TABLE "${table}"`);
}

/** Deletes the rows of a tenant, in the registry: its earlier tables have the id of the account. */
export function deleteEarlierRows(storage: ObjectStorage, tenant: string): void {
  for (const table of earlierTables(storage))
    if (columnsOf(storage, table).includes("account_id"))
      storage.sql.exec(`DELETE FROM "${table}" WHERE CAST(account_id AS TEXT) = ?`, tenant);
}

const columnsOf = ({ sql }: ObjectStorage, table: string): string[] =>
  sql
    .exec("SELECT name FROM pragma_table_info(?)", table)
    .toArray()
    .map(({ name }) => String(name));

interface EarlierEvent {
  id: string;
  type: string;
  payload: string;
  received_at: string | number;
  processed: number;
}

const COLUMNS = ["id", "type", "payload", "received_at", "processed"];

/**
 * Migrates the events of an earlier Worker, oldest first, with their ids. A crash repeats it: events that
 * were migrated before are duplicates. Returns the number of events.
 */
export async function migrateEarlierEvents(
  storage: ObjectStorage,
  store: Pick<Store, "appendEvents" | "packLarge" | "markProcessed">,
  tenant: string,
  now: number,
): Promise<number> {
  const columns = columnsOf(storage, EVENTS);
  if (!COLUMNS.every((column) => columns.includes(column))) return 0;
  let count = 0;
  for (;;) {
    const rows = storage.sql
      .exec(
        `SELECT ${COLUMNS.join(", ")} FROM ${EVENTS} ORDER BY received_at, id LIMIT ? OFFSET ?`,
        BATCH,
        count,
      )
      .toArray() as unknown as EarlierEvent[];
    for (const row of rows) {
      const events = [toEvent(row)];
      await store.appendEvents([await store.packLarge({ tenant, events, skipQuota: true })], null);
    }
    const processed = rows.filter((row) => row.processed).map(({ id }) => String(id));
    if (processed.length > 0) await store.markProcessed(tenant, processed, now, null);
    count += rows.length;
    if (rows.length < BATCH) break;
  }
  storage.sql.exec(`ALTER TABLE ${EVENTS} RENAME TO ${MIGRATED}`);
  return count;
}

function toEvent({ id, type, payload, received_at }: EarlierEvent): NewEvent {
  return {
    id: String(id),
    source: github.id,
    source_id: github.id,
    // The id of the delivery was not stored.
    external_id: `earlier:${id}`,
    type,
    received_at: new Date(received_at).getTime() || 0,
    ...sanitizeSummary(github.summarize(type, parsed(payload))),
    content_type: "application/json",
    headers: { "x-github-event": type },
    body: utf8(payload),
  };
}

/** Empty if the payload is not a JSON object. */
function parsed(payload: string): JsonObject {
  try {
    const body = JSON.parse(payload) as Json;
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}
