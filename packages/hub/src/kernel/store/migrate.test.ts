import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { storeDefinition } from "../../store.ts";
import { openSqlite } from "../backends/sqlite.ts";
import { checksumOf } from "./migrate.ts";
import { migrations } from "./migrations.ts";

test("no migration is edited after it was committed", () => {
  const committed = readFileSync(new URL("migration-checksums.txt", import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
  const lines = migrations.map((migration) => `${checksumOf(migration)} ${migration.name}`);
  for (const [index, line] of committed.entries())
    expect(
      lines[index],
      `Migration ${index + 1} was edited. Databases contain it: undo the edit, and add a new entry instead, at the end of migrations.ts`,
    ).toBe(line);
  expect(
    lines.slice(committed.length),
    "Add the lines of the new entries to the end of migration-checksums.txt",
  ).toEqual([]);
});

async function createDatabase() {
  const file = `${tempFolder()}/hub.db`;
  await openSqlite(storeDefinition, file).close();
  const db = new Database(file);
  onTestFinished(() => void db.close());
  const open = async () => openSqlite(storeDefinition, file).close();
  const contentOf = () =>
    ["sqlite_master", "migration_checksums", "schema_version"].map((table) =>
      db.prepare(`SELECT * FROM ${table}`).all(),
    );
  return { db, open, contentOf };
}

describe("a database is refused, and not changed", () => {
  test.each([
    {
      title: "if another edit of a migration made it",
      change: "UPDATE migration_checksums SET checksum = '0badc0de' WHERE position = 3",
      code: "migration_differs",
      message:
        /^Migration 3 of the database, "apps, flows and runs", has the checksum 0badc0de, but that of this hub, "apps, flows and runs", has [0-9a-f]{8}: another build .* Start that build again, restore a backup/,
    },
    {
      title: "if a newer version has migrated it",
      change: `INSERT INTO migration_checksums VALUES (${migrations.length + 1}, 'a new index', '0badc0de');
        UPDATE schema_version SET version = version + 1`,
      code: "database_too_new",
      message: new RegExp(
        `is at version ${migrations.length + 1} \\(its migration ${migrations.length + 1} is "a new index"\\), .* Start a newer Signalbox`,
      ),
    },
    ...["schema_version", "migration_checksums"].map((table) => ({
      title: `if another program has a table ${table}`,
      change: `DROP TABLE ${table}; CREATE TABLE ${table} (rank INTEGER, script TEXT)`,
      code: "foreign_table",
      message: new RegExp(
        `^Its table ${table} belongs to another program: it has the columns rank, script\\. Point the hub at another database`,
      ),
    })),
    {
      title: "if it has no checksums, and an unknown schema",
      change: "DELETE FROM migration_checksums; ALTER TABLE events ADD COLUMN more TEXT",
      code: "unknown_schema",
      message:
        /^The schema [0-9a-f]{8} of the database is not one that Signalbox has made: .* Undo the change, restore a backup/,
    },
  ])("$title", async ({ change, code, message }) => {
    const { db, open, contentOf } = await createDatabase();
    db.exec(change);
    const before = contentOf();
    await expect(open()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(contentOf()).toEqual(before);
  });
});

/** The numbers of migrations that databases contained before checksums were stored. */
const formerCounts = [1, 3, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18].concat(
  Array.from({ length: 15 }, (_, index) => 21 + index),
);

test.each(formerCounts)(
  "a database with %i migrations and no checksums is migrated",
  async (count) => {
    const file = `${tempFolder()}/hub.db`;
    const db = new Database(file);
    onTestFinished(() => void db.close());
    db.exec("BEGIN");
    for (const { statements } of migrations.slice(0, count))
      for (const statement of statements)
        db.exec(statement.replaceAll(/\bCLUSTERED\b/g, "WITHOUT ROWID"));
    db.exec(
      `CREATE TABLE schema_version (id INTEGER PRIMARY KEY, version BIGINT NOT NULL);
     INSERT INTO schema_version VALUES (1, ${count});
     CREATE INDEX added_by_the_operator ON events (title);
     COMMIT`,
    );
    await openSqlite(storeDefinition, file).close();
    const fresh = await createDatabase();
    const columns =
      "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c ORDER BY 1, 2";
    expect(db.prepare(columns).raw().all()).toEqual(fresh.db.prepare(columns).raw().all());
    const checksums = "SELECT * FROM migration_checksums";
    expect(db.prepare(checksums).all()).toEqual(fresh.db.prepare(checksums).all());
  },
);
