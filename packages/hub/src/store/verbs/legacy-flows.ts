/**
 * Migrates the flows of a legacy system, in which each flow was one tool, from its own table `flows`.
 * Before our tables are created, every legacy table with the same name is renamed to `older_…`. Its
 * flows are then migrated in one transaction, and the table is renamed once more. Its rows stay.
 */
import { normalizeColumnName } from "../../lib/normalize-column-name.ts";
import type { ConvertFlows, LegacyApp, LegacyMigration, StoredFlow } from "../flow-store.ts";
import { columnsOf, type Dialect, query, type Row, type Verb } from "../sql.ts";
import { publishFlow, saveFlows } from "./flows.ts";

/** Our table `flows` has no column for tool names: they belong to triggers. */
const isLegacy = (columns: readonly string[]): boolean =>
  columns.some((column) => normalizeColumnName(column) === "toolname");

/** Renames the legacy tables and drops the legacy indexes that these statements are about to create. */
export function* setLegacyTablesAside(dialect: Dialect, statements: readonly string[]): Verb<void> {
  const created = statements.flatMap((statement) => {
    const [, kind, name] = /^CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)/.exec(statement) ?? [];
    return kind && name ? [{ kind, name }] : [];
  });
  if (!created.some(({ name }) => name === "flows")) return;
  if (!isLegacy(yield* columnsOf(dialect, "flows"))) return;
  for (const { kind, name } of created)
    if (kind === "INDEX") yield* query(`DROP INDEX IF EXISTS ${name}`);
    else if (yield* exists(dialect, name))
      yield* query(`ALTER TABLE ${name} RENAME TO older_${name}`);
}

export function* migrateLegacyFlows(
  dialect: Dialect,
  convert: ConvertFlows,
): Verb<LegacyMigration> {
  if (!(yield* exists(dialect, "older_flows"))) return { outcome: "none" };
  // Another process may have migrated them in the meantime.
  if (dialect.migrationLock) {
    yield* query(dialect.migrationLock);
    if (!(yield* exists(dialect, "older_flows"))) return { outcome: "none" };
  }
  const apps = convert(yield* rowsOf(dialect, "older_flows"), yield* rowsOf(dialect, "older_apps"));
  if (!apps) return { outcome: "postponed" };
  const saved: [LegacyApp, StoredFlow[]][] = [];
  for (const one of apps) saved.push([one, yield* saveFlows(dialect, one.app, one.plan)]);
  for (const [{ publish }, flows] of saved)
    for (const flow of flows) {
      const publication = publish(flow);
      if (publication) yield* publishFlow(dialect, flow, () => publication);
    }
  const table = yield* freeName(dialect, "migrated_flows");
  yield* query(`ALTER TABLE older_flows RENAME TO ${table}`);
  return { outcome: "migrated", apps: saved.map(([, flows]) => flows), table };
}

function* exists(dialect: Dialect, table: string): Verb<boolean> {
  return (yield* columnsOf(dialect, table)).length > 0;
}

/** Oldest first, if there is such a column: the older one of two flows keeps a tool name. */
function* rowsOf(dialect: Dialect, table: string): Verb<Row[]> {
  const columns = yield* columnsOf(dialect, table);
  if (columns.length === 0) return [];
  const order = ["createdat", "id"].flatMap(
    (wanted) => columns.find((column) => normalizeColumnName(column) === wanted) ?? [],
  );
  const by = order.map((column) => `"${column}"`).join(", ");
  return yield* query(`SELECT * FROM ${table}${by && ` ORDER BY ${by}`}`);
}

function* freeName(dialect: Dialect, wanted: string): Verb<string> {
  let name = wanted;
  for (let nth = 2; yield* exists(dialect, name); nth += 1) name = `${wanted}_${nth}`;
  return name;
}
