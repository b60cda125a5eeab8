/** Identifies the schema of a database that has no checksums of migrations. */
import { migrations } from "./migrations.ts";
import type { Table } from "./schema.ts";
import { type Dialect, query, type Verb } from "./sql.ts";

/** A short hash against accidental changes: FNV-1a, as eight hexadecimal digits. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

export const collapseSpace = (sql: string): string => sql.replaceAll(/\s+/g, " ").trim();

const CREATE = /^CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)/;

/** The tables or indexes that any migration has created, or that these tables have. */
function namesOf(kind: "TABLE" | "INDEX", tables: readonly Table[]): Set<string> {
  const created = migrations.flatMap(({ statements }) =>
    statements.flatMap((statement) => {
      const [, created, name] = CREATE.exec(statement) ?? [];
      return created === kind && name !== undefined ? [name] : [];
    }),
  );
  const declared = tables.flatMap(({ name, indexes = {} }) =>
    kind === "TABLE" ? [name] : Object.keys(indexes),
  );
  return new Set([...created, ...declared]);
}

/**
 * The columns, keys and indexes of our tables, sorted. Omits what queries do not depend on: the order of
 * columns, their defaults, and the tables and indexes of other programs.
 */
export function* describeSchema(
  dialect: Pick<Dialect, "tableParts">,
  tables: readonly Table[] = [],
): Verb<string[]> {
  const indexes = namesOf("INDEX", tables);
  const parts: string[] = [];
  for (const table of namesOf("TABLE", tables))
    for (const { part } of yield* query<{ part: string }>(dialect.tableParts, [table])) {
      const index = CREATE.exec(part)?.[2];
      // PostgreSQL adds the name of the schema to the name of the table.
      if (index === undefined || indexes.has(index))
        parts.push(`${table}: ${collapseSpace(part).replace(/ ON .*\.(?=\w+ USING )/, " ON ")}`);
    }
  return parts.sort();
}

export const fingerprintOf = (schema: readonly string[]): string => shortHash(schema.join("\n"));
