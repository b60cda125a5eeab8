import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createDatabase } from "../../../../../test/support/postgres.ts";
import {
  allEvents,
  appendRequest,
  ids,
  itemAt,
  sampleEvent,
  sampleEvents,
} from "../../events/store/contract/sample.ts";
import { storeContract } from "../../store.contract.ts";
import { storeDefinition } from "../../store.ts";
import { createGroupCommit } from "../store/group-commit.ts";
import type { Notice, Row } from "../store/sql.ts";
import { openPostgres } from "./postgres.ts";

/** The limit for idle transactions: on a busy machine, seconds can pass between two statements. */
const OPTIONS = { idleTimeoutMs: 60_000 };

let url: string;
let admin: pg.Client;

beforeAll(async () => {
  url = await createDatabase(inject("postgresUrl"));
  await (await openPostgres(storeDefinition, url)).close();
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
});

afterAll(() => admin.end());

/**
 * Creating a database for each test would be slow, and `TRUNCATE` of all tables takes 50 times the
 * CPU time of deleting the few rows of a test.
 */
async function deleteRows(): Promise<void> {
  const { rows } = await admin.query<{ deletions: string }>(
    "SELECT string_agg('DELETE FROM ' || tablename, '; ') AS deletions FROM pg_tables " +
      "WHERE schemaname = 'public' AND tablename NOT IN ('schema_version', 'migration_checksums')",
  );
  await admin.query(rows[0]?.deletions ?? "");
}

storeContract("PostgreSQL", async () => {
  await deleteRows();
  const stores = [await openPostgres(storeDefinition, url, OPTIONS)];
  const notices: Notice[] = [];
  stores[0]?.subscribe((notice) => notices.push(notice));
  const reopen = async () => {
    stores.push(await openPostgres(storeDefinition, url, OPTIONS));
    return itemAt(stores, -1);
  };
  return {
    store: itemAt(stores, 0),
    notices: async () => notices,
    reopen,
    async reopenOn(statements) {
      await admin.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; ${statements}`);
      return reopen();
    },
    sql: async (query) => (await admin.query<Row>(query)).rows,
    async close() {
      for (const store of stores) await store.close();
    },
  };
});

describe("values that PostgreSQL rejects", () => {
  const random = (length: number) =>
    Array.from({ length }, () => Math.random().toString(36).at(-1)).join("");
  const rejected = {
    "a text with NUL": { title: "a\u0000b" },
    "a fraction in an integer column": { number: 1.5 },
    "an id too long for its index": { external_id: random(9_000) },
  };
  for (const [what, fields] of Object.entries(rejected))
    test(`${what} is a data error, and fails only its own request`, async () => {
      await deleteRows();
      const store = await openPostgres(storeDefinition, url);
      const commit = createGroupCommit({ store, quota: null });
      const [one, two] = sampleEvents(2);
      const results = await Promise.allSettled(
        [one, sampleEvent(fields), two].map((event) => commit.append(appendRequest([event]))),
      );
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      const [, bad] = results;
      expect(bad?.status === "rejected" && store.isDataError(bad.reason)).toBe(true);
      expect(ids(await allEvents(store))).toEqual(ids([one, two]));
      await store.close();
    });
});
