/**
 * Migrates the flows of a legacy system. Each of its flows was one tool; in its later version, each
 * trigger was one tool. Before our tables were created, every legacy table with the same name was renamed to
 * `older_…` (kernel/store/legacy-tables.ts). The rows of `older_flows` are migrated in one transaction, which
 * renames that table to `migrated_flows`. No row is deleted.
 */

import { normalizeColumnName } from "@signalbox/rules/normalize-column-name.ts";
import { type Dialect, query, type Row, readColumns, type Verb } from "../../kernel/store/sql.ts";
import { write } from "../../kernel/store/verb.ts";
import type { ConvertFlows, LegacyApp, LegacyMigration, StoredFlow } from "../model.ts";
import { publishFlow, saveFlows } from "./flows.ts";

/**
 * Saves and publishes the flows of a legacy system whose tables are in this database. Then renames
 * the legacy table of flows, so that its flows are migrated only once. The rows of the table do not
 * change.
 */
export const migrateLegacyFlows = write(
  "own",
  function* (convert: ConvertFlows): Verb<LegacyMigration> {
    const { dialect } = this;
    if (!(yield* exists(dialect, "older_flows"))) return { outcome: "none" };
    // Checked again under the lock: another process may have migrated the flows in the meantime.
    if (dialect.migrationLock) {
      yield* query(dialect.migrationLock);
      if (!(yield* exists(dialect, "older_flows"))) return { outcome: "none" };
    }
    const apps = convert(
      yield* rowsOf(dialect, "older_flows"),
      yield* rowsOf(dialect, "older_apps"),
    );
    if (!apps) return { outcome: "postponed" };
    const saved: [LegacyApp, StoredFlow[]][] = [];
    for (const legacy of apps)
      saved.push([legacy, yield* saveFlows.call(this, legacy.app, legacy.plan)]);
    const savedFlows = saved.flatMap(([, flows]) => flows);
    for (const [{ publish }, flows] of saved)
      for (const flow of flows) {
        const publication = publish(flow, savedFlows);
        if (publication) yield* publishFlow.call(this, flow, () => publication);
      }
    const table = yield* findFreeName(dialect, "migrated_flows");
    yield* query(`ALTER TABLE older_flows RENAME TO ${table}`);
    return { outcome: "migrated", apps: saved.map(([, flows]) => flows), table };
  },
);

function* exists(dialect: Dialect, table: string): Verb<boolean> {
  return (yield* readColumns(dialect, table)).length > 0;
}

/**
 * Selects the rows of a table, the oldest first if a column has the creation time: of two flows with the
 * same tool name, the older one keeps it.
 */
export function selectOldestFirst(table: string, columns: readonly string[]): string {
  const order = ["createdat", "id"].flatMap(
    (wanted) => columns.find((column) => normalizeColumnName(column) === wanted) ?? [],
  );
  const by = order.map((column) => `"${column}"`).join(", ");
  return `SELECT * FROM ${table}${by && ` ORDER BY ${by}`}`;
}

function* rowsOf(dialect: Dialect, table: string): Verb<Row[]> {
  const columns = yield* readColumns(dialect, table);
  return columns.length === 0 ? [] : yield* query(selectOldestFirst(table, columns));
}

function* findFreeName(dialect: Dialect, wanted: string): Verb<string> {
  let name = wanted;
  for (let suffix = 2; yield* exists(dialect, name); suffix += 1) name = `${wanted}_${suffix}`;
  return name;
}
