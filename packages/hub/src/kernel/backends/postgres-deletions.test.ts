/** The deletion of a tenant while other transactions use its rows, on PostgreSQL. */
import pg from "pg";
import { afterEach, beforeEach, expect, inject, test, vi } from "vitest";
import { createMigratedDatabase } from "../../../../../test/support/postgres.ts";
import {
  appendEvents,
  appendRequest,
  DAY,
  START,
  sampleEvent,
} from "../../events/store/contract/sample.ts";
import { sampleRun } from "../../flows/runs/store/contract/run-sample.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { openPostgres } from "./postgres.ts";

let admin: pg.Client;
/** Uses no transaction, because PostgreSQL caches `pg_stat_activity` until the end of a transaction. */
let observer: pg.Client;
let one: Store;
let two: Store;

beforeEach(async () => {
  const url = await createMigratedDatabase(inject("postgresUrl"));
  admin = new pg.Client({ connectionString: url });
  observer = new pg.Client({ connectionString: url });
  await Promise.all([admin.connect(), observer.connect()]);
  // The transactions wait for locks of this test.
  const options = { lockTimeoutMs: 60_000, maxAttempts: 1 };
  [one, two] = [
    await openPostgres(storeDefinition, url, options),
    await openPostgres(storeDefinition, url, options),
  ];
});

afterEach(async () => {
  await Promise.all([one.close(), two.close()]);
  await Promise.all([admin.end(), observer.end()]);
});

/** Resolves when `count` transactions wait for a lock, or when `until` has settled. */
async function waitForLocks(count: number, until: Promise<unknown>): Promise<void> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  until.then(settle, settle);
  await vi.waitFor(async () => {
    const { rows } = await observer.query(
      "SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()",
    );
    expect(isSettled || rows.length >= count).toBe(true);
  }, 60_000);
}

async function deleteTenant(store: Store, tenant: string): Promise<void> {
  await store.startDeletion(tenant, START);
  while (!(await store.continueDeletion(tenant, 100)));
}

test("a deletion waits for an event that is being stored, and deletes it", async () => {
  await appendEvents(one, [sampleEvent()]);
  // The insert of the next event waits for this one, which has the same key.
  await admin.query(
    "BEGIN; INSERT INTO events SELECT (jsonb_populate_record(e, " +
      `'{"seq": 2, "id": "other", "external_id": "other"}')).* FROM events e`,
  );
  const appended = one.appendEvents([appendRequest([sampleEvent()])], null);
  await waitForLocks(1, appended);
  const deleted = deleteTenant(two, "acme");
  await waitForLocks(2, deleted);
  await admin.query("ROLLBACK");
  expect(await appended).toMatchObject([{ outcome: "stored" }]);
  await deleted;
  for (const table of ["events", "packs", "pending_types"])
    expect((await admin.query(`SELECT tenant_id FROM ${table}`)).rows, table).toEqual([]);
});

test("a deletion that waits for a run has not locked the queue, which a worker locks after the run", async () => {
  await one.queueRuns([sampleRun()]);
  await admin.query("BEGIN; SELECT id FROM runs FOR UPDATE");
  const deleted = deleteTenant(two, "acme");
  await waitForLocks(1, deleted);
  await admin.query("SELECT tenant_id FROM queues FOR UPDATE");
  await admin.query("COMMIT");
  await deleted;
  for (const table of ["runs", "queues"])
    expect((await admin.query(`SELECT tenant_id FROM ${table}`)).rows, table).toEqual([]);
});

test.each(["tokens", "oauth_grants"])(
  "the concurrent deletions of two tenants leave nothing in %s that names one of them",
  async (table) => {
    const tenants = ["acme", "umbrella"];
    for (const id of tenants) await one.putTenant({ id, at: START });
    const scopes = ["inbox:read" as const];
    if (table === "tokens")
      await one.putToken({
        id: "both",
        hash: "both",
        name: "both",
        scopes,
        tenants,
        created_at: START,
        expires_at: null,
      });
    else
      await one.createOAuthGrant({
        id: "both",
        code_hash: "both",
        client_id: "c",
        client_name: "c",
        user_code: null,
        redirect_uri: null,
        challenge: null,
        resource: "r",
        scopes,
        tenants,
        person: null,
        parent: null,
        salt: "s",
        created_at: START,
        expires_at: START + DAY,
        status: "approved",
      });
    await admin.query(`BEGIN; SELECT id FROM ${table} FOR UPDATE`);
    const first = one.startDeletion("acme", START);
    await waitForLocks(1, first);
    const second = two.startDeletion("umbrella", START);
    await waitForLocks(2, second);
    await admin.query("COMMIT");
    expect(await Promise.all([first, second])).toEqual([true, true]);
    // The second transaction has read the tenants that the first one has stored.
    const read = async () => (await admin.query(`SELECT tenants FROM ${table}`)).rows;
    expect(await read()).toEqual([{ tenants: '["umbrella"]' }]);
    for (const id of tenants) await deleteTenant(one, id);
    expect(await read()).toEqual([]);
  },
);
