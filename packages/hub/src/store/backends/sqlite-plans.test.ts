import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectionPlanCases, FILL_CONNECTIONS } from "../contract/connection-query-plans.ts";
import { FILL_EVENTS, planCases } from "../contract/query-plans.ts";
import { FILL_RUNS, normalizeIndexes, runPlanCases } from "../contract/run-query-plans.ts";
import { insertSql, runSync, type SyncSql } from "../run-sync.ts";
import type { Row, Value } from "../sql.ts";
import { connect, dialect, openSqlite } from "./sqlite.ts";

let folder: string;
let db: Database.Database;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-plans-"));
  const file = join(folder, "hub.db");
  await openSqlite(file).close();
  // Without ANALYZE, since the hub does not run it: SQLite plans without statistics.
  db = connect(file);
  for (const statement of [...FILL_EVENTS, ...FILL_RUNS, ...FILL_CONNECTIONS]) db.exec(statement);
});

afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

/** Adds the plan of each query to `plan`, and runs it. */
const explaining = (plan: string[]): SyncSql => ({
  query(sql, params) {
    const explain = db.prepare<Value[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
    plan.push(...explain.all(...params).map(({ detail }) => detail));
    const statement = db.prepare<Value[], Row>(sql);
    if (statement.reader) return statement.all(...params);
    statement.run(...params);
    return [];
  },
  insert(insert) {
    const statement = db.prepare<Value[]>(insertSql(insert));
    for (const row of insert.rows) statement.run(...row);
  },
});

describe("on SQLite", () => {
  for (const { what, verb, indexes, sorts } of planCases)
    test(`${what}: uses ${[...new Set(indexes)].join(", ")}`, () => {
      const plan: string[] = [];
      db.exec("BEGIN");
      runSync(explaining(plan), verb(dialect), []);
      db.exec("ROLLBACK");
      const used = plan.flatMap((line) => {
        const [, how, index] =
          /^(SCAN|SEARCH) (?:events|e)\b(?: USING (?:COVERING )?INDEX (\w+))?/.exec(line) ?? [];
        if (!how) return [];
        return how === "SCAN" || !index
          ? [line]
          : [index.replace("sqlite_autoindex_events_1", "primary")];
      });
      expect(used.sort()).toEqual(indexes.toSorted());
      expect(plan.some((line) => line.includes("TEMP B-TREE"))).toBe(sorts !== undefined);
    });
});

/** Scans of a subquery's result or of a few given keys. They may lack an index. */
const SMALL_SCAN = /^SCAN (k|held|lost|old|picked)\b|^SEARCH r$|CONSTANT ROW|VALUES CLAUSE/;

/** Aliases of tables in statements. */
const ALIASES: Record<string, string> = { l: "run_events" };

describe("flows, runs and connections on SQLite", () => {
  for (const planCase of [...runPlanCases, ...connectionPlanCases])
    test(`${planCase.what}: uses ${planCase.indexes.join(", ")}`, () => {
      const plan: string[] = [];
      db.exec("BEGIN");
      try {
        runSync(explaining(plan), planCase.verb(dialect), []);
      } finally {
        db.exec("ROLLBACK");
      }
      const accesses = plan.filter(
        (line) => /^(SCAN|SEARCH) /.test(line) && !SMALL_SCAN.test(line),
      );
      const used = accesses.map((line) => {
        const [, table, index] =
          /^SEARCH (\w+) USING (?:(?:COVERING )?INDEX (\w+)|PRIMARY KEY)/.exec(line) ?? [];
        if (!table) return line;
        return index?.replace(/^sqlite_autoindex_(\w+)_1$/, "$1") ?? ALIASES[table] ?? table;
      });
      expect(normalizeIndexes(planCase, used).sort()).toEqual(planCase.indexes.toSorted());
    });
});
