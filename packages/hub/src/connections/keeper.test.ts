import { expect, test } from "vitest";
import { START } from "../events/store/contract/sample.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createIds } from "../kernel/lib/ids.ts";
import { createTestTimers } from "../kernel/lib/test-timers.ts";
import { type Store, storeDefinition } from "../store.ts";
import { ConnectionError } from "./connection-error.ts";
import { createKeeper, type KeeperOptions } from "./keeper.ts";
import { createCallbackTokenDerivation } from "./staged-tokens.ts";
import {
  publishTriggers,
  sampleConnection,
  sampleOffers,
} from "./store/contract/connection-sample.ts";

const MINUTE = 60_000;
const LEASE_MS = 30_000;
const STEP_MS = 250;

/** Creates connections with these ids, and a keeper. `check` is called for each check of a server. */
const open = (ids: string[], check: Check, options: Partial<KeeperOptions> = {}) =>
  openWith(ids, check, () => options);

type Check = (id: string, signal: AbortSignal) => Promise<void>;

async function openWith(
  ids: string[],
  check: Check,
  optionsFor: (store: Store) => Partial<KeeperOptions>,
) {
  const store = openSqlite(storeDefinition, ":memory:");
  const timers = createTestTimers(START);
  for (const id of ids) await store.createConnection(sampleConnection({ id }), START);
  const checks: { id: string; at: number }[] = [];
  const errors: unknown[] = [];
  const keeper = createKeeper({
    store,
    by: "me",
    timers,
    random: () => 0.5,
    leaseMs: LEASE_MS,
    deriveToken: createCallbackTokenDerivation(new Uint8Array(32)),
    callbackUrl: "http://hub.example/api/trigger-callback",
    append: () => Promise.reject(new Error("nothing is polled")),
    newId: createIds(),
    log: { info() {}, warn() {}, error() {} },
    revokeRemoved: (_, remove) => remove(),
    onError: (error) => errors.push(error),
    connections: {
      disconnect() {},
      callTool: () => Promise.reject(new Error("nothing is configured")),
      request: () => Promise.reject(new Error("nothing is polled")),
      async loadOffers({ id }, { signal }) {
        checks.push({ id, at: timers.now() - START });
        await check(id, signal);
        return sampleOffers();
      },
    },
    ...optionsFor(store),
  });
  /** Runs deferred work until none is left. */
  const settle = async () => {
    for (let round = 0; round < 8; round += 1) {
      timers.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  /** Moves the clock in small steps, so that the work of each timer ends before the next timer fires. */
  const advance = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      timers.advance(STEP_MS);
      await settle();
    }
  };
  await settle();
  return { store, timers, keeper, checks, errors, settle, advance };
}

const hang = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );

test("checks a connection when it is created, and again after some minutes", async () => {
  const { store, keeper, checks, advance } = await open(["a"], async () => {});
  expect(await store.getConnection("acme", "a")).toMatchObject({ status: "ok", tool_count: 1 });
  await advance(5 * MINUTE + 1_000);
  expect(checks).toEqual([
    { id: "a", at: 0 },
    { id: "a", at: 5 * MINUTE },
  ]);
  await keeper.close();
});

test("pauses between checks, even if the connection is touched during each check", async () => {
  let touch = async () => {};
  const { store, timers, keeper, checks, advance } = await open(["a"], () => touch());
  await advance(1_000);
  touch = () => store.touchConnection("acme", "a", timers.now());
  await touch();
  await advance(10_000);
  const gaps = checks.slice(1).map(({ at }, n) => at - (checks[n]?.at ?? 0));
  expect(gaps.length).toBeGreaterThan(1);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
  await keeper.close();
});

test("retries a failed check with exponential backoff, and records the error", async () => {
  let isReachable = false;
  const { store, keeper, checks, advance } = await open(["a"], async () => {
    if (!isReachable) throw new ConnectionError("unreachable", "connection refused");
  });
  await advance(20_000);
  const gaps = checks.slice(1).map(({ at }, n) => at - (checks[n]?.at ?? 0));
  expect(gaps.slice(0, 4)).toEqual([750, 1_500, 3_000, 6_000]);
  const failed = { status: "failed", error: "connection refused", attempt: checks.length };
  expect(await store.getConnection("acme", "a")).toMatchObject(failed);
  isReachable = true;
  await advance(MINUTE);
  expect(await store.getConnection("acme", "a")).toMatchObject({
    status: "ok",
    error: null,
    attempt: 0,
  });
  await keeper.close();
});

test("checks other connections while one server does not answer", async () => {
  const { store, keeper, advance } = await open(["a", "b", "c"], async (id, signal) => {
    if (id === "a") await hang(signal);
  });
  for (const id of ["b", "c"])
    expect(await store.getConnection("acme", id)).toMatchObject({ status: "ok" });
  await store.createConnection(sampleConnection({ id: "d" }), START);
  await advance(1_000);
  expect(await store.getConnection("acme", "d")).toMatchObject({ status: "ok" });
  expect(await store.getConnection("acme", "a")).toMatchObject({ status: "unknown" });
  await keeper.close();
});

test("visits a limited number of connections concurrently", async () => {
  const waiting: (() => void)[] = [];
  const ids = ["a", "b", "c", "d", "e"];
  const { keeper, checks, settle } = await open(
    ids,
    () => new Promise((resolve) => waiting.push(resolve)),
    { concurrency: 2 },
  );
  expect(checks).toHaveLength(2);
  waiting.shift()?.();
  await settle();
  expect(checks).toHaveLength(3);
  for (let n = 0; n < 4; n += 1) {
    waiting.shift()?.();
    await settle();
  }
  expect(checks.map(({ id }) => id).toSorted()).toEqual(ids);
  await keeper.close();
});

test("renews its leases, so that no other process leases a connection during a visit", async () => {
  const { store, timers, keeper, advance } = await open(["a"], (_, signal) => hang(signal));
  const lease = () => ({ by: "other", now: timers.now(), until: timers.now() + 1, limit: 1 });
  for (let n = 0; n < 10; n += 1) {
    await advance(10_000);
    expect(await store.leaseConnections(lease())).toEqual([]);
  }
  await keeper.close();
  expect(await store.leaseConnections(lease())).toHaveLength(1);
});

test("aborts a visit when it has lost the lease", async () => {
  let isAborted = false;
  const { store, timers, keeper, errors, advance, settle } = await open(["a"], (_, signal) => {
    signal.addEventListener("abort", () => {
      isAborted = true;
    });
    return hang(signal);
  });
  const later = timers.now() + LEASE_MS + 1;
  expect(
    await store.leaseConnections({ by: "other", now: later, until: later + MINUTE, limit: 1 }),
  ).toHaveLength(1);
  await advance(11_000);
  await settle();
  expect(isAborted).toBe(true);
  expect(errors).toEqual([]);
  await keeper.close();
});

test("never visits a connection twice at the same time, even if its own lease has expired", async () => {
  let isOutage = true;
  let running = 0;
  let maxRunning = 0;
  const renewConnections =
    (store: Store): Store["renewConnections"] =>
    (...args) =>
      isOutage ? Promise.reject(new Error("outage")) : store.renewConnections(...args);
  const releases: (() => void)[] = [];
  const { keeper, checks, advance } = await openWith(
    ["a"],
    // A check that ends some time after it was aborted.
    async (_, signal) => {
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      await hang(signal).catch(() => {});
      await new Promise<void>((resolve) => releases.push(resolve));
      running -= 1;
    },
    (store) => ({ store: { ...store, renewConnections: renewConnections(store) } }),
  );
  await advance(2 * LEASE_MS + 5_000);
  expect(checks).toHaveLength(1);
  releases.shift()?.();
  await advance(5_000);
  // The connection was leased again, and the second visit has begun.
  expect(checks).toHaveLength(2);
  expect(maxRunning).toBe(1);
  isOutage = false;
  await advance(LEASE_MS + 5_000);
  let isClosed = false;
  const closed = keeper.close().then(() => {
    isClosed = true;
  });
  await advance(1_000);
  expect({ isClosed, running }).toEqual({ isClosed: false, running: 1 });
  for (const release of releases) release();
  await closed;
  expect({ running, maxRunning }).toEqual({ running: 0, maxRunning: 1 });
});

test("records an unexpected error of a visit, and retries with backoff", async () => {
  let isBroken = true;
  const finishConnection =
    (store: Store): Store["finishConnection"] =>
    async (by, result, ...rest) => {
      if (isBroken && result.offers) throw new RangeError("Maximum call stack size exceeded");
      return store.finishConnection(by, result, ...rest);
    };
  const logged: string[] = [];
  const log = { info: (_: object, line: string) => logged.push(line), warn() {}, error() {} };
  const { store, keeper, checks, errors, advance } = await openWith(
    ["a"],
    async () => {},
    (store) => ({ log, store: { ...store, finishConnection: finishConnection(store) } }),
  );
  await advance(20_000);
  const gaps = checks.slice(1).map(({ at }, n) => at - (checks[n]?.at ?? 0));
  expect(gaps.slice(0, 4)).toEqual([750, 1_500, 3_000, 6_000]);
  expect(await store.getConnection("acme", "a")).toMatchObject({
    status: "failed",
    error:
      "The hub could not finish the check: Maximum call stack size exceeded. The hub's log has the details.",
    attempt: checks.length,
  });
  expect(errors).toHaveLength(checks.length);
  expect(logged).toEqual([]);
  isBroken = false;
  await advance(MINUTE);
  expect(await store.getConnection("acme", "a")).toMatchObject({ status: "ok", error: null });
  expect(logged).toEqual(["connection recovered"]);
  await keeper.close();
});

test("leases a few connections per transaction, and visits all that are due", async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `c${index}`);
  const batchSizes: number[] = [];
  const { keeper, checks, settle } = await openWith(
    ids,
    (_, signal) => hang(signal),
    (store) => ({
      store: {
        ...store,
        async leaseConnections(lease) {
          const leased = await store.leaseConnections(lease);
          batchSizes.push(leased.length);
          return leased;
        },
      },
    }),
  );
  await settle();
  expect(checks.map(({ id }) => id).sort()).toEqual(ids.toSorted());
  expect(Math.max(...batchSizes)).toBe(8);
  await keeper.close();
});

test("closes during an unanswered TRIGGER_CONFIGURE, and lets another process lease the connection", async () => {
  const id = "weather-7kq2xv";
  const tools = [{ name: "TRIGGER_CONFIGURE", description: "", inputSchema: {} }];
  let called = 0;
  const { store, timers, keeper, errors, advance } = await openWith(
    [id],
    async () => {},
    () => ({
      connections: {
        disconnect() {},
        request: () => Promise.reject(new Error("nothing is polled")),
        loadOffers: async () => sampleOffers({ tools }),
        callTool(_, __, { signal }) {
          called += 1;
          return hang(signal);
        },
      },
    }),
  );
  await publishTriggers(store, [{}]);
  await advance(2_000);
  // The token is hashed asynchronously, independently of the test clock.
  await expect.poll(() => called).toBe(1);
  await keeper.close();
  expect(errors).toEqual([]);
  const now = timers.now();
  const [leased] = await store.leaseConnections({ by: "other", now, until: now + 1, limit: 1 });
  expect(leased?.subscriptions).toMatchObject([{ state: "configuring", configured: 0 }]);
});
