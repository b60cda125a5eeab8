/**
 * Migrates the flows of a legacy system. Each of its flows was one tool; in its later version, each
 * trigger was one tool. Before our tables are created, every legacy table with the same name is renamed to
 * `older_…`. Later the rows of `older_flows` are migrated in one transaction, which renames that table
 * to `migrated_flows`. No row is deleted.
 */
import { normalizeColumnName } from "../../kernel/lib/normalize-column-name.ts";
import type {
  ConvertFlows,
  LegacyApp,
  LegacyMigration,
  StoredFlow,
} from "../../kernel/store/flow-store.ts";
import { columnsOf, type Dialect, query, type Row, type Verb } from "../../kernel/store/sql.ts";
import { publishFlow, saveFlows } from "./flows.ts";

/**
 * Whether a table `flows` with these columns belongs to a legacy system. Our table has a column
 * `graph`.
 */
export function isLegacyTable(columns: readonly string[]): boolean {
  const names = new Set(columns.map(normalizeColumnName));
  return names.has("toolname") || (names.has("nodes") && !names.has("graph"));
}

/** Renames the legacy tables, and drops the legacy indexes, whose names the statements use. */
export function* renameLegacyTables(dialect: Dialect, statements: readonly string[]): Verb<void> {
  const created = statements.flatMap((statement) => {
    const [, kind, name] = /^CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)/.exec(statement) ?? [];
    return kind && name ? [{ kind, name }] : [];
  });
  if (!created.some(({ name }) => name === "flows")) return;
  if (!isLegacyTable(yield* columnsOf(dialect, "flows"))) return;
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
  // Checked again under the lock: another process may have migrated the flows in the meantime.
  if (dialect.migrationLock) {
    yield* query(dialect.migrationLock);
    if (!(yield* exists(dialect, "older_flows"))) return { outcome: "none" };
  }
  const apps = convert(yield* rowsOf(dialect, "older_flows"), yield* rowsOf(dialect, "older_apps"));
  if (!apps) return { outcome: "postponed" };
  const saved: [LegacyApp, StoredFlow[]][] = [];
  for (const legacy of apps)
    saved.push([legacy, yield* saveFlows(dialect, legacy.app, legacy.plan)]);
  const savedFlows = saved.flatMap(([, flows]) => flows);
  for (const [{ publish }, flows] of saved)
    for (const flow of flows) {
      const publication = publish(flow, savedFlows);
      if (publication) yield* publishFlow(dialect, flow, () => publication);
    }
  const table = yield* findFreeName(dialect, "migrated_flows");
  yield* query(`ALTER TABLE older_flows RENAME TO ${table}`);
  return { outcome: "migrated", apps: saved.map(([, flows]) => flows), table };
}

function* exists(dialect: Dialect, table: string): Verb<boolean> {
  return (yield* columnsOf(dialect, table)).length > 0;
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
  const columns = yield* columnsOf(dialect, table);
  return columns.length === 0 ? [] : yield* query(selectOldestFirst(table, columns));
}

function* findFreeName(dialect: Dialect, wanted: string): Verb<string> {
  let name = wanted;
  for (let suffix = 2; yield* exists(dialect, name); suffix += 1) name = `${wanted}_${suffix}`;
  return name;
}
