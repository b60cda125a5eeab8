import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  connectionPlanCases,
  FILL_CONNECTIONS,
} from "../../connections/store/contract/connection-query-plans.ts";
import { FILL_EVENTS, planCases } from "../../events/store/contract/query-plans.ts";
import {
  FILL_RUNS,
  normalizeIndexes,
  runPlanCases,
} from "../../flows/runs/store/contract/run-query-plans.ts";
import { storeDefinition } from "../../store.ts";
import { insertSql, type Row, runSync, type SyncSql, type Value } from "../store/sql.ts";
import { dialect, openSqlite } from "./sqlite.ts";
import { connect } from "./sqlite-file.ts";

let folder: string;
let db: Database.Database;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-plans-"));
  const file = join(folder, "hub.db");
  await openSqlite(storeDefinition, file).close();
  // ANALYZE is not run, as in the hub: SQLite plans without statistics.
  db = connect(file);
  for (const statement of [...FILL_EVENTS, ...FILL_RUNS, ...FILL_CONNECTIONS]) db.exec(statement);
});

afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

/** Runs each query, and adds its query plan to `plan`. */
const createExplainer = (plan: string[]): SyncSql => ({
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

describe("events on SQLite", () => {
  for (const { operation, verb, indexes, sorts } of planCases)
    test(`${operation}: uses ${[...new Set(indexes)].join(", ")}`, () => {
      const plan: string[] = [];
      db.exec("BEGIN");
      runSync(createExplainer(plan), verb(dialect), []);
      db.exec("ROLLBACK");
      const used = plan.flatMap((line) => {
        const [, access, index] =
          /^(SCAN|SEARCH) (?:events|e)\b(?: USING (?:COVERING )?INDEX (\w+))?/.exec(line) ?? [];
        if (!access) return [];
        return access === "SCAN" || !index
          ? [line]
          : [index.replace("sqlite_autoindex_events_1", "primary")];
      });
      expect(used.sort()).toEqual(indexes.toSorted());
      expect(plan.some((line) => line.includes("TEMP B-TREE"))).toBe(sorts !== undefined);
    });
});

/** Scans of the result of a subquery, or of a few keys. They need no index. */
const SMALL_SCAN = /^SCAN (k|leased|old|picked)\b|^SEARCH r$|CONSTANT ROW|VALUES CLAUSE/;

/** Aliases of tables in statements. */
const ALIASES: Record<string, string> = { l: "run_events", m: "matching_events", v: "verdicts" };

describe("flows, runs and connections on SQLite", () => {
  for (const planCase of [...runPlanCases, ...connectionPlanCases])
    test(`${planCase.operation}: uses ${planCase.indexes.join(", ")}`, () => {
      const plan: string[] = [];
      db.exec("BEGIN");
      try {
        runSync(createExplainer(plan), planCase.verb(dialect), []);
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
