/** Tables of the legacy systems whose database the hub may get. */
import { normalizeColumnName } from "@signalbox/rules/normalize-column-name.ts";
import { type Dialect, query, readColumns, type Verb } from "./sql.ts";

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
  if (!isLegacyTable(yield* readColumns(dialect, "flows"))) return;
  for (const { kind, name } of created)
    if (kind === "INDEX") yield* query(`DROP INDEX IF EXISTS ${name}`);
    else if ((yield* readColumns(dialect, name)).length > 0)
      yield* query(`ALTER TABLE ${name} RENAME TO older_${name}`);
}
