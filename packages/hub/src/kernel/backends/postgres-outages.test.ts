/** Locks of a replica that has stopped, and a database that does not respond. */
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { startFreezableProxy } from "../../../../../test/support/freezable-proxy.ts";
import { createDatabase } from "../../../../../test/support/postgres.ts";
import { allEvents, appendEvents, sampleEvent } from "../../events/store/contract/sample.ts";
import {
  claimExactly,
  sampleRun,
  sampleStep,
  save,
  succeeded,
} from "../../flows/runs/store/contract/run-sample.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { openPostgres, type PostgresOptions } from "./postgres.ts";
import { dialect } from "./postgres-pipeline.ts";

let url: string;
let stores: Store[];

beforeEach(async () => {
  url = await createDatabase(inject("postgresUrl"));
  stores = [];
});

afterEach(async () => {
  for (const store of stores) await store.close();
});

async function open(at = url, options: PostgresOptions = {}): Promise<Store> {
  const store = await openPostgres(storeDefinition, at, options);
  stores.push(store);
  return store;
}

describe("a replica that freezes in a transaction", () => {
  test("delays the others by about a second, and repeats its transaction when it wakes up", async () => {
    const proxy = await startFreezableProxy(url);
    const [frozen, other] = [await open(proxy.url), await open()];
    await appendEvents(other, [sampleEvent()]);
    // The response to the statement that locks the row of the tenant.
    const hasLocked = proxy.onResponse("triggers_rev", "hold");
    const appended = appendEvents(frozen, [sampleEvent()]);
    await hasLocked;
    const started = performance.now();
    expect(await appendEvents(other, [sampleEvent()])).toEqual([2]);
    expect(performance.now() - started).toBeLessThan(10_000); // 1 s on a machine that is not busy
    proxy.resume();
    expect(await appended).toEqual([3]);
  });

  test("repeats a transaction that the server has ended before it could be continued", async () => {
    const store = await open();
    await store.queueRuns([sampleRun()]);
    const claimed = await claimExactly(store, 1);
    let blocked = 0;
    const output = {
      toJSON() {
        blocked += 1;
        // Longer than the idle timeout of the server, which then closes the connection. Its message
        // is lost, because this process sends data before it reads.
        if (blocked === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
        return "x".repeat(1_000_000);
      },
    };
    const steps = Array.from({ length: 10 }, (_, at) =>
      sampleStep({ nth: at + 1, node_id: `n${at}`, output: output as never }),
    );
    await save(store, claimed, { steps, next: succeeded });
    expect(await store.getRun("acme", claimed[0].run.id)).toMatchObject({ status: "succeeded" });
  });

  test("holds its locks only until it has sent the rest of its transaction", async () => {
    const proxy = await startFreezableProxy(url);
    const [frozen, other] = [await open(proxy.url), await open()];
    await appendEvents(other, [sampleEvent()]);
    const event = sampleEvent();
    const reasons = [{ on: "active" as const, holds: true, message: "the trigger is active" }];
    const verdict = { flow_id: "a flow", node_id: "start", version: 1, matched: true, reasons };
    const plan = { verdicts: [verdict], runs: [sampleRun({ event_id: event.id })] };
    // The replica receives the response to its last read. The inserts and the commit get no response.
    const isMute = proxy.onResponse("external_id", "mute");
    const appended = frozen
      .appendEvents(
        [{ tenant: "acme", events: [event], plan: { revision: 0, events: [plan] } }],
        null,
      )
      .catch((error: unknown) => error);
    await isMute;
    await vi.waitFor(async () => expect(await allEvents(other)).toHaveLength(2), 60_000);
    expect(await other.listVerdicts("acme", event.id)).toHaveLength(1);
    proxy.repair();
    expect(await appended).toMatchObject({ code: "storage_unavailable" });
  });
});

test("a transaction that waits for a lock fails after a few seconds", async () => {
  const store = await open();
  await appendEvents(store, [sampleEvent()]);
  const locking = new pg.Client({ connectionString: url });
  await locking.connect();
  await locking.query("BEGIN; SELECT * FROM tenants FOR UPDATE");
  await expect(appendEvents(store, [sampleEvent()])).rejects.toMatchObject({
    code: "storage_unavailable",
    message: "another process has locked the rows for too long",
  });
  await locking.end();
  expect(await appendEvents(store, [sampleEvent()])).toEqual([2]);
});

test("a migration may take longer than other statements", async () => {
  const blocking = new pg.Client({ connectionString: url });
  await blocking.connect();
  await blocking.query(`BEGIN; ${dialect.migrationLock}`);
  let isOpen = false;
  const opened = open(url, { queryTimeoutMs: 1_000 }).then((store) => {
    isOpen = true;
    return store;
  });
  await vi.waitFor(async () => {
    const { rows } = await blocking.query(
      "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory' " +
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    );
    expect(rows).toHaveLength(1);
  }, 60_000);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(isOpen).toBe(false);
  await blocking.end();
  expect(await appendEvents(await opened, [sampleEvent()])).toEqual([1]);
});

describe("a database that stops responding", () => {
  test("fails the waiting call, and later calls use another connection", async () => {
    const proxy = await startFreezableProxy(url);
    const store = await open(proxy.url, { queryTimeoutMs: 300 });
    await appendEvents(store, [sampleEvent()]);
    proxy.freezeOpen();
    const error = await appendEvents(store, [sampleEvent()]).catch((error: unknown) => error);
    expect(error).toMatchObject({
      code: "storage_unavailable",
      message: "the database did not respond in time",
    });
    expect(store.isDataError(error)).toBe(false);
    await vi.waitFor(
      async () => expect(await appendEvents(store, [sampleEvent()])).toHaveLength(1),
      60_000,
    );
  });

  test("fails every call within about two seconds, and later ones immediately", async () => {
    const proxy = await startFreezableProxy(url);
    const store = await open(proxy.url);
    await appendEvents(store, [sampleEvent()]);
    proxy.freeze();
    const started = performance.now();
    const calls = [appendEvents(store, [sampleEvent()]), store.pendingStatus("acme")];
    const results = await Promise.allSettled(calls);
    expect(performance.now() - started).toBeLessThan(15_000); // 2 s on a machine that is not busy
    for (const result of results)
      expect(result).toMatchObject({ reason: { code: "storage_unavailable" } });
    const next = performance.now();
    // 20 calls, one after the other: if each waited for its timeout, the total would exceed the limit
    // below.
    for (let call = 0; call < 20; call += 1)
      await expect(store.pendingStatus("acme")).rejects.toMatchObject({
        code: "storage_unavailable",
      });
    expect(performance.now() - next).toBeLessThan(15_000);
    proxy.repair();
    await vi.waitFor(
      async () => expect(await appendEvents(store, [sampleEvent()])).toHaveLength(1),
      60_000,
    );
  });

  test("does not prevent the store from closing", async () => {
    const proxy = await startFreezableProxy(url);
    const store = await openPostgres(storeDefinition, proxy.url);
    await appendEvents(store, [sampleEvent()]);
    proxy.freezeOpen();
    const stuck = appendEvents(store, [sampleEvent()]).catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve)); // the call has a connection now
    await store.close();
    expect(await stuck).toBeInstanceOf(Error);
  });
});
