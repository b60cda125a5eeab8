/**
 * Identifies the schema of a database that has no checksums of migrations. Such databases were made by each state
 * of the main branch until 19 November 2026, and by upgrades between them. Later databases have checksums, so the
 * lists do not grow.
 */
import { migrations } from "./migrations.ts";
import type { Migration, Table } from "./schema.ts";
import { type Dialect, query, type Verb } from "./sql.ts";

interface KnownSchema {
  /** The database contains this many migrations from the start of the list. */
  first: number;
  /** The names of later migrations that the database contains too. */
  also?: readonly string[];
}

/** By the fingerprint of the schema. */
const knownSchemas: Readonly<Record<string, KnownSchema>> = {
  // SQLite and Durable Objects.
  b5569cbf: { first: 1 },
  c1c693b4: { first: 3 },
  "625e41ff": { first: 7 },
  e22aec0e: { first: 8 },
  fe017f76: { first: 9 },
  "41824928": { first: 10 },
  d98420b8: { first: 11 },
  "4aaaac20": { first: 12 },
  "59222054": { first: 13 },
  "0318a946": { first: 14 },
  "721cbc9e": { first: 15 },
  a3081b39: { first: 16 },
  "4eef8a86": { first: 17 },
  "10cd14ad": { first: 18 },
  a1304bca: { first: 21 },
  fcf60075: { first: 22 },
  ad19843d: { first: 23 },
  "41fe519d": { first: 24 },
  b69f0646: { first: 25 },
  b21b3324: { first: 26 },
  e6e805db: { first: 27 },
  "63f5d559": { first: 28 },
  "1e876c8d": { first: 29 },
  "22228d95": { first: 30 },
  "3a2080a3": { first: 31 },
  "178d02c5": { first: 32 },
  fed76dde: { first: 33 },
  "926aa87d": { first: 34 },
  "4886c5f7": { first: 35 },
  // On 16 November, "index of steps by number" was migration 19, and later 20. It is omitted here: the present
  // migration 20 creates the table again, without the index.
  "50ba21fa": { first: 18 },
  // PostgreSQL.
  e07eaa03: { first: 1 },
  "97bd010f": { first: 3 },
  "4bbf3996": { first: 7 },
  "71cd619e": { first: 8 },
  d92d57e7: { first: 9 },
  "78a6dfe7": { first: 10 },
  f644c48f: { first: 11 },
  "37505903": { first: 12 },
  "9a25ec39": { first: 13 },
  "280bb770": { first: 14 },
  "0790b637": { first: 15 },
  "054776f2": { first: 16 },
  a867889b: { first: 17 },
  e4bdabdc: { first: 18 },
  "6c9ef215": { first: 21 },
  "1430866d": { first: 22 },
  "866e5858": { first: 23 },
  ebf97956: { first: 24 },
  "100e3fdf": { first: 25 },
  e497061a: { first: 26 },
  dbce47cc: { first: 27 },
  "855c96b0": { first: 28 },
  "5cf4859d": { first: 29 },
  "96bf568a": { first: 30 },
  "11de4e95": { first: 31 },
  "015f0bea": { first: 32 },
  e19d020c: { first: 33 },
  "8c48d9cb": { first: 34 },
  "6b6fc149": { first: 35 },
  // On 16 November, as above. PostgreSQL skips the present migration 20.
  "1af2bc85": { first: 18, also: ["index of steps by number"] },
};

/** Columns that were added to a migration that databases contained already. They are added first. */
const missingColumns = [
  // Databases that were created on 15 November before 06:41.
  { table: "installations", column: "version", type: "BIGINT NOT NULL DEFAULT 0" },
];

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

const fingerprintOf = (schema: readonly string[]): string => shortHash(schema.join("\n"));

/**
 * Returns the migrations that a database without checksums contains; undefined if its schema is unknown. First
 * adds the columns that the database may lack.
 */
export function* identify(
  dialect: Dialect,
): Verb<{ fingerprint: string; contained: readonly Migration[] | undefined }> {
  let schema = yield* describeSchema(dialect);
  const missing = missingColumns.filter(
    ({ table, column }) =>
      schema.some((part) => part.startsWith(`${table}: `)) &&
      !schema.some((part) => part.startsWith(`${table}: ${column} `)),
  );
  for (const { table, column, type } of missing)
    yield* query(`ALTER TABLE ${table} ADD COLUMN ${column} ${type}`);
  if (missing.length > 0) schema = yield* describeSchema(dialect);
  const fingerprint = fingerprintOf(schema);
  const known = knownSchemas[fingerprint];
  if (known === undefined) return { fingerprint, contained: undefined };
  const { first: count, also = [] } = known;
  const contained = migrations.filter(({ name }, index) => index < count || also.includes(name));
  return { fingerprint, contained };
}
