import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FILL, planned } from "../contract/plans.ts";
import { runSync, type SyncSql } from "../run-sync.ts";
import type { Row, Value } from "../sql.ts";
import { connect, dialect, openSqlite } from "./sqlite.ts";

let folder: string;
let db: Database.Database;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-plans-"));
  const file = join(folder, "hub.db");
  await openSqlite(file).close();
  // Without statistics, as SQLite has none unless it is told to gather them.
  db = connect(file);
  for (const statement of FILL) db.exec(statement);
});

afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

/** Runs each statement, and first asks for its plan. */
const explaining = (plan: string[]): SyncSql => ({
  query(sql, params) {
    const explain = db.prepare<Value[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
    plan.push(...explain.all(...params).map(({ detail }) => detail));
    const statement = db.prepare<Value[], Row>(sql);
    if (statement.reader) return statement.all(...params);
    statement.run(...params);
    return [];
  },
  insert() {},
});

describe("on SQLite", () => {
  for (const { what, verb, indexes, sorts } of planned)
    test(`${what}: by ${[...new Set(indexes)].join(", ")}`, () => {
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
