/**
 * Flows of an older system, each of which was one tool, lie in a table `flows` of another form. It
 * makes room before ours is made, with all else that has a name of ours. Then its flows are taken
 * over, in one transaction, and it stays under a last name: nothing in it is changed.
 */
import { spelled } from "../../lib/spelled.ts";
import type { ConvertFlows, LegacyApp, LegacyMigration, StoredFlow } from "../flow-store.ts";
import { columnsOf, type Dialect, query, type Row, type Verb } from "../sql.ts";
import { publishFlow, saveFlows } from "./flows.ts";

/** Ours have no tool name: theirs are their triggers'. */
const isOlder = (columns: readonly string[]): boolean =>
  columns.some((column) => spelled(column) === "toolname");

/** For what these statements are about to make. */
export function* makeRoom(dialect: Dialect, statements: readonly string[]): Verb<void> {
  const made = statements.flatMap((statement) => {
    const [, kind, name] = /^CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)/.exec(statement) ?? [];
    return kind && name ? [{ kind, name }] : [];
  });
  if (!made.some(({ name }) => name === "flows")) return;
  if (!isOlder(yield* columnsOf(dialect, "flows"))) return;
  for (const { kind, name } of made)
    if (kind === "INDEX") yield* query(`DROP INDEX IF EXISTS ${name}`);
    else if (yield* exists(dialect, name))
      yield* query(`ALTER TABLE ${name} RENAME TO older_${name}`);
}

export function* migrateLegacyFlows(
  dialect: Dialect,
  convert: ConvertFlows,
): Verb<LegacyMigration> {
  if (!(yield* exists(dialect, "older_flows"))) return { outcome: "none" };
  // Another process may have been faster.
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

/** The oldest first, as far as they say it: of two that want one name, that one has it. */
function* rowsOf(dialect: Dialect, table: string): Verb<Row[]> {
  const columns = yield* columnsOf(dialect, table);
  if (columns.length === 0) return [];
  const order = ["createdat", "id"].flatMap(
    (wanted) => columns.find((column) => spelled(column) === wanted) ?? [],
  );
  const by = order.map((column) => `"${column}"`).join(", ");
  return yield* query(`SELECT * FROM ${table}${by && ` ORDER BY ${by}`}`);
}

function* freeName(dialect: Dialect, wanted: string): Verb<string> {
  let name = wanted;
  for (let nth = 2; yield* exists(dialect, name); nth += 1) name = `${wanted}_${nth}`;
  return name;
}
