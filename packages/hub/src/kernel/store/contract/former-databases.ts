import { expect } from "vitest";
import postgres58fbffd6 from "../../../../../../test/fixtures/former-databases/58fbffd6.postgres.sql?raw";
import sqlite58fbffd6 from "../../../../../../test/fixtures/former-databases/58fbffd6.sqlite.sql?raw";
import postgresBc33d3db from "../../../../../../test/fixtures/former-databases/bc33d3db.postgres.sql?raw";
import sqliteBc33d3db from "../../../../../../test/fixtures/former-databases/bc33d3db.sqlite.sql?raw";
import postgresCd926100 from "../../../../../../test/fixtures/former-databases/cd926100.postgres.sql?raw";
import sqliteCd926100 from "../../../../../../test/fixtures/former-databases/cd926100.sqlite.sql?raw";
import { allEvents } from "../../../events/store/contract/sample.ts";
import { storeDefinition } from "../../../store.ts";
import { postgresDialect, sqliteDialect } from "../../backends/dialects.ts";
import { describeSchema } from "../known-schemas.ts";
import { checksumOf, translate } from "../migrate.ts";
import { migrations } from "../migrations.ts";
import { tablesOf } from "../schema.ts";
import type { It, Subject } from "./subject.ts";

/** By the commit that made them; see test/fixtures/former-databases/README.md. */
const dumps = {
  "58fbffd6": { sqlite: sqlite58fbffd6, postgres: postgres58fbffd6, events: 5 },
  cd926100: { sqlite: sqliteCd926100, postgres: postgresCd926100, events: 3 },
  bc33d3db: { sqlite: sqliteBc33d3db, postgres: postgresBc33d3db, events: 3 },
};

/** The engines' keywords for the placeholders of migrations. */
const KEYWORDS = {
  sqlite: { TEXT: "TEXT", BLOB: "BLOB", CLUSTERED: "WITHOUT ROWID" },
  postgres: { TEXT: 'TEXT COLLATE "C"', BLOB: "BYTEA", CLUSTERED: "" },
};

const DEFAULTS = {
  sqlite:
    "SELECT m.name || '.' || c.name AS name, c.dflt_value AS value FROM sqlite_master m, pragma_table_info(m.name) c " +
    "WHERE m.type = 'table' AND m.name NOT LIKE '\\_cf%' ESCAPE '\\' AND c.dflt_value IS NOT NULL ORDER BY 1",
  postgres:
    "SELECT table_name || '.' || column_name AS name, column_default AS value FROM information_schema.columns " +
    "WHERE table_schema = 'public' AND column_default IS NOT NULL ORDER BY 1",
};

/** The schema as the engine reports it. */
async function schemaOf({ store, sql }: Pick<Subject, "store" | "sql">): Promise<string[]> {
  const { tableParts } = store.backend === "postgres" ? postgresDialect : sqliteDialect;
  const verb = describeSchema({ tableParts }, tablesOf(storeDefinition));
  let step = verb.next([]);
  while (!step.done) {
    if (step.value.kind !== "query") throw new Error("The schema is only read.");
    const [table] = step.value.params;
    step = verb.next(await sql(step.value.sql.replace("?", `'${table}'`)));
  }
  return step.value;
}

export function formerDatabasesContract(it: It): void {
  it("migrates a database by all migrations to the schema of a new database", async (subject) => {
    const engine = subject.store.backend === "postgres" ? "postgres" : "sqlite";
    const expected = await schemaOf(subject);
    const defaults = await subject.sql(DEFAULTS[engine]);
    const statements = (migrations[0]?.statements ?? []).map((statement) =>
      translate(statement, KEYWORDS[engine]),
    );
    const store = await subject.reopenOn(
      [
        ...statements,
        "CREATE TABLE schema_version (id INTEGER PRIMARY KEY, version BIGINT NOT NULL)",
        "INSERT INTO schema_version (id, version) VALUES (1, 1)",
      ].join(";\n"),
    );
    const hint = "The tables and the migrations disagree: add an entry to migrations.ts";
    expect(await schemaOf({ ...subject, store }), hint).toEqual(expected);
    expect(await subject.sql(DEFAULTS[engine]), hint).toEqual(defaults);
  });

  for (const [commit, { sqlite, postgres, events }] of Object.entries(dumps))
    it(`migrates a database of ${commit} to the schema of a new database, with all rows`, async ({
      store: fresh,
      sql,
      reopen,
      reopenOn,
    }) => {
      const expected = await schemaOf({ store: fresh, sql });
      const store = await reopenOn(fresh.backend === "postgres" ? postgres : sqlite);
      expect(await allEvents(store, "local")).toHaveLength(events);
      expect((await store.listFlows("local", { limit: 9 })).flows).toHaveLength(2);
      expect(await store.listRuns({ tenant: "local", limit: 9 })).toHaveLength(4);
      expect((await store.listTokens({ limit: 9 })).map(({ name }) => name)).toContain("fixture");
      expect(await schemaOf({ store, sql })).toEqual(expected);
      expect(await sql("SELECT checksum FROM migration_checksums ORDER BY position")).toEqual(
        migrations.map((migration) => ({ checksum: checksumOf(migration) })),
      );
      expect(await allEvents(await reopen(), "local")).toHaveLength(events);
    });
}
