/**
 * Migrates the storage of an earlier Worker, whose Durable Objects had the same class names and some of
 * the same table names. The earlier tables are renamed to `earlier_…`. Their events and installations are
 * migrated. When a tenant is deleted, its data in these tables is deleted too.
 */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import type { NewEvent } from "../../events/model.ts";
import { github } from "../../events/sources/github.ts";
import { sanitizeSummary } from "../../events/sources/summary.ts";
import type { ObjectStorage } from "../../kernel/backends/durable-object.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { Store } from "../../store.ts";

const PREFIX = "earlier_";
const EVENTS = `${PREFIX}events`;
const MIGRATED_EVENTS = "migrated_events";
const INSTALLATIONS = `${PREFIX}installations`;
const MIGRATED_INSTALLATIONS = "migrated_installations";
const BATCH_SIZE = 100;

const namesOf = ({ sql }: ObjectStorage, type: "table" | "index"): string[] =>
  sql
    .exec(
      "SELECT name FROM sqlite_master WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
      type,
    )
    .toArray()
    .map(({ name }) => String(name));

/** Renames the tables of an earlier Worker. Must be called before the store is opened. */
export function renameEarlierTables(storage: ObjectStorage): void {
  const tables = namesOf(storage, "table");
  // The hub has opened its store here before, so the tables are its own.
  if (tables.includes("schema_version")) return;
  storage.transactionSync(() => {
    for (const index of namesOf(storage, "index")) storage.sql.exec(`DROP INDEX "${index}"`);
    for (const table of tables.filter((name) => !name.startsWith(PREFIX)))
      storage.sql.exec(`ALTER TABLE "${table}" RENAME TO "${PREFIX}${table}"`);
  });
}

const earlierTables = (storage: ObjectStorage): string[] =>
  namesOf(storage, "table").filter(
    (name) =>
      name.startsWith(PREFIX) || name === MIGRATED_EVENTS || name === MIGRATED_INSTALLATIONS,
  );

/** Deletes the earlier tables of an object that belongs to one tenant. */
export function dropEarlierTables(storage: ObjectStorage): void {
  for (const table of earlierTables(storage)) storage.sql.exec(`DROP TABLE "${table}"`);
}

/** Deletes one tenant's rows from the earlier tables of the registry. Their `account_id` is the tenant id. */
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
 * Migrates the events of an earlier Worker, oldest first, with their ids. After a crash, the next start
 * repeats it; the store detects the events that are already migrated as duplicates. Returns the number
 * of events.
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
        BATCH_SIZE,
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
    if (rows.length < BATCH_SIZE) break;
  }
  storage.sql.exec(`ALTER TABLE ${EVENTS} RENAME TO ${MIGRATED_EVENTS}`);
  return count;
}

const INSTALLATION_COLUMNS = ["installation_id", "account_id", "account_login", "created_at"];

/**
 * Migrates the accounts of the installations in an earlier registry, so that their webhooks have a tenant
 * before GitHub sends an event that names the account. They have the version 0: they do not replace
 * installations that are already stored, and every event about an installation replaces them. Returns the
 * number of installations.
 */
export async function migrateEarlierInstallations(
  storage: ObjectStorage,
  store: Pick<Store, "putInstallation">,
  now: number,
): Promise<number> {
  const columns = columnsOf(storage, INSTALLATIONS);
  if (!INSTALLATION_COLUMNS.every((column) => columns.includes(column))) return 0;
  const rows = storage.sql
    .exec(`SELECT ${INSTALLATION_COLUMNS.join(", ")} FROM ${INSTALLATIONS}`)
    .toArray();
  for (const { installation_id, account_id, account_login, created_at } of rows)
    await store.putInstallation(
      {
        id: String(installation_id),
        tenant: String(account_id),
        account: String(account_login),
        version: 0,
        change: null,
        suspended_at: null,
      },
      new Date(String(created_at)).getTime() || now,
    );
  storage.sql.exec(`ALTER TABLE ${INSTALLATIONS} RENAME TO ${MIGRATED_INSTALLATIONS}`);
  return rows.length;
}

function toEvent({ id, type, payload, received_at }: EarlierEvent): NewEvent {
  return {
    id: String(id),
    source: github.id,
    source_id: github.id,
    // The earlier Worker did not store the delivery id.
    external_id: `earlier:${id}`,
    type,
    received_at: new Date(received_at).getTime() || 0,
    ...sanitizeSummary(github.summarize(type, parseObject(payload))),
    content_type: "application/json",
    headers: { "x-github-event": type },
    body: utf8(payload),
  };
}

/** Returns an empty object if the payload is not a JSON object. */
function parseObject(payload: string): JsonObject {
  try {
    const body = JSON.parse(payload) as Json;
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}
