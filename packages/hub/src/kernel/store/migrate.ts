/**
 * Creates the schema in an empty database, or migrates a database to the newest schema. All of it is one
 * transaction under a lock, so that several processes can start at the same time. The database stores the
 * checksum of each migration that it contains. One without checksums is identified by the fingerprint of its
 * schema. Any other database is refused, and not changed. See docs/decisions/0031-migrations-have-checksums.md.
 */
import { collapseSpace, identify, shortHash } from "./known-schemas.ts";
import { renameLegacyTables } from "./legacy-tables.ts";
import { migrations } from "./migrations.ts";
import { createStatements, type Keywords, type Migration, type Table } from "./schema.ts";
import { type Dialect, first, insert, query, readColumns, type Verb } from "./sql.ts";

/** The hub does not migrate the database, and has not changed it. The message contains the fix. */
export class SchemaRefused extends Error {
  readonly code:
    | "no_schema"
    | "foreign_table"
    | "database_too_new"
    | "migration_differs"
    | "unknown_schema";
  constructor(code: SchemaRefused["code"], message: string) {
    super(`${message} The database is unchanged.`);
    this.code = code;
  }
}

interface StoredChecksum {
  name: string;
  checksum: string;
}

/** The checksum does not depend on the name, nor on line breaks and indentation. */
export const checksumOf = ({ statements, onlyClustered }: Migration): string =>
  shortHash(JSON.stringify([statements.map(collapseSpace), onlyClustered ?? false]));

export function* migrate(
  dialect: Dialect,
  tables: readonly Table[],
  { mayCreate = true }: { mayCreate?: boolean | undefined } = {},
): Verb<void> {
  if (dialect.migrationLock) yield* query(dialect.migrationLock);
  yield* query(
    "CREATE TABLE IF NOT EXISTS schema_version (id INTEGER PRIMARY KEY, version BIGINT NOT NULL)",
  );
  yield* query(
    "CREATE TABLE IF NOT EXISTS migration_checksums (position INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)",
  );
  yield* assertOwnTable(dialect, "schema_version", ["id", "version"]);
  yield* assertOwnTable(dialect, "migration_checksums", ["position", "name", "checksum"]);
  const version =
    (yield* first<{ version: number }>("SELECT version FROM schema_version WHERE id = 1"))
      ?.version ?? 0;
  const stored = yield* query<StoredChecksum>(
    "SELECT name, checksum FROM migration_checksums ORDER BY position",
  );
  if (version === 0 && !mayCreate)
    throw new SchemaRefused("no_schema", "The database is empty, but a hub has stored data in it.");
  assertNotNewer(version, stored);
  assertSame(stored);
  if (version === 0) yield* create(dialect, tables);
  const contained =
    version === 0
      ? migrations
      : stored.length > 0
        ? migrations.slice(0, stored.length)
        : yield* identifyOrRefuse(dialect);
  const due = migrations.filter((migration) => !contained.includes(migration));
  if (due.length > 0)
    yield* renameLegacyTables(
      dialect,
      due.flatMap(({ statements }) => statements),
    );
  for (const { statements, onlyClustered, fill } of due) {
    if (!onlyClustered || dialect.CLUSTERED !== "")
      for (const statement of statements) yield* query(translate(statement, dialect));
    if (fill) yield* fill();
  }
  if (version < migrations.length)
    // Hubs that do not read the checksums compare this number.
    yield* query(
      "INSERT INTO schema_version (id, version) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version",
      [migrations.length],
    );
  yield* insert(
    "migration_checksums",
    ["position", "name", "checksum"],
    migrations
      .map((migration, index) => [index + 1, migration.name, checksumOf(migration)])
      .slice(stored.length),
  );
}

/** Replaces the placeholders of a migration by the engine's keywords. */
export const translate = (statement: string, keywords: Keywords): string =>
  statement.replaceAll(/\b(TEXT|BLOB|CLUSTERED)\b/g, (name) => keywords[name as keyof Keywords]);

function* create(dialect: Dialect, tables: readonly Table[]): Verb<void> {
  const statements = tables.flatMap((table) => createStatements(table, dialect));
  yield* renameLegacyTables(dialect, statements);
  for (const statement of statements) yield* query(statement);
}

/** `IF NOT EXISTS` accepts a table of another program. */
function* assertOwnTable(dialect: Dialect, table: string, columns: readonly string[]): Verb<void> {
  const found = yield* readColumns(dialect, table);
  if (columns.some((column) => !found.includes(column)))
    throw new SchemaRefused(
      "foreign_table",
      `Its table ${table} belongs to another program: it has the columns ${found.join(", ")}. Point the hub at another database.`,
    );
}

function assertNotNewer(version: number, stored: readonly StoredChecksum[]): void {
  const newest = Math.max(version, stored.length);
  if (newest <= migrations.length) return;
  const unknown = stored[migrations.length];
  throw new SchemaRefused(
    "database_too_new",
    `The database is at version ${newest}${unknown ? ` (its migration ${migrations.length + 1} is "${unknown.name}")` : ""}, but this hub supports only up to ${migrations.length}. ` +
      "Start a newer Signalbox, or point it at another database.",
  );
}

function assertSame(stored: readonly StoredChecksum[]): void {
  for (const [index, { name, checksum }] of stored.entries()) {
    const migration = migrations[index] as Migration;
    const expected = checksumOf(migration);
    if (checksum !== expected)
      throw new SchemaRefused(
        "migration_differs",
        `Migration ${index + 1} of the database, "${name}", has the checksum ${checksum}, but that of this hub, "${migration.name}", has ${expected}: another build of Signalbox has migrated the database. ` +
          "Start that build again, restore a backup from before it (docs/deploy.md), or point this hub at another database.",
      );
  }
}

/** Returns the migrations that a database without checksums contains. */
function* identifyOrRefuse(dialect: Dialect): Verb<readonly Migration[]> {
  const { fingerprint, contained } = yield* identify(dialect);
  if (contained === undefined)
    throw new SchemaRefused(
      "unknown_schema",
      `The schema ${fingerprint} of the database is not one that Signalbox has made: a table, a column or an index was changed, or the database was restored incompletely. ` +
        "Undo the change, restore a backup (docs/deploy.md), or point the hub at another database.",
    );
  return contained;
}
