import { describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createIds } from "../lib/ids.ts";
import { createTestTimers } from "../lib/test-timers.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { publishSchedules, scheduleTrigger } from "../store/contract/schedules.ts";
import type { NewTrigger } from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";
import { createTicker } from "./ticker.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T = Date.UTC(2026, 10, 16, 9);

/** A new store, and a clock that shows one second before nine o'clock. */
function open() {
  const store = openSqlite(`${tempFolder()}/hub.db`);
  const timers = createTestTimers(T - 1000);
  const errors: unknown[] = [];
  onTestFinished(async () => void (await store.close()));
  const start = (given: Partial<Store> = {}) => {
    const ticker = createTicker({
      store: { ...store, ...given },
      timers,
      newId: createIds({ now: timers.now }),
      onError: (error) => errors.push(error),
    });
    onTestFinished(ticker.close);
    return ticker;
  };
  const settle = async () => {
    for (let round = 0; round < 5; round += 1) {
      timers.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const advance = async (ms: number) => {
    timers.advance(ms);
    await settle();
  };
  return { store, timers, errors, start, settle, advance, runs: () => runsOf(store) };
}

const runsOf = async (store: Store) => {
  const runs = await store.listRuns({ tenant: "acme", limit: 100 });
  return runs.reverse().map(({ input }) => input);
};

const every = (cron: string, next_at: number, config: NewTrigger["config"] = {}) =>
  scheduleTrigger({
    config: { cron, timeZone: "UTC", misfire: "once", ...config },
    schedule: { cron, time_zone: "UTC", next_at },
  });
const hourly = (config: NewTrigger["config"] = {}) => every("0 * * * *", T, config);

const input = (scheduled: number, fired: number, missed: number) => ({
  scheduled_at: new Date(scheduled).toISOString(),
  fired_at: new Date(fired).toISOString(),
  time_zone: "UTC",
  missed,
});

test("starts a run at each tick, and not before", async () => {
  const { store, start, settle, advance, runs } = open();
  const flow = await publishSchedules(store, [hourly()]);
  start();
  await settle();
  await advance(999);
  expect(await runs()).toEqual([]);
  await advance(1);
  expect(await runs()).toEqual([input(T, T, 0)]);
  await advance(HOUR - 1);
  expect(await runs()).toHaveLength(1);
  await advance(1);
  expect(await runs()).toEqual([input(T, T, 0), input(T + HOUR, T + HOUR, 0)]);
  expect((await store.listRuns({ tenant: "acme", limit: 1 }))[0]).toMatchObject({
    flow_id: flow.id,
    version: 1,
    trigger_node: "tick",
    cause: "schedule",
    key: `schedule:${flow.id}:tick:${new Date(T + HOUR).toISOString()}`,
    status: "queued",
    depth: 0,
  });
});

test("fires a schedule that is published while it runs, also one that is due before the others", async () => {
  const { store, start, settle, advance, runs } = open();
  start();
  await settle();
  await publishSchedules(store, [hourly()]);
  await settle();
  await publishSchedules(store, [every("* * * * *", T - 500)]);
  await advance(500);
  expect(await runs()).toMatchObject([{ scheduled_at: new Date(T - 500).toISOString() }]);
  await advance(500);
  expect(await runs()).toHaveLength(3);
});

test("finds a schedule of another replica within 30 s if its notice was lost", async () => {
  const { store, start, settle, advance, runs } = open();
  start({ subscribe: () => () => {} });
  await settle();
  await publishSchedules(store, [hourly()]);
  await advance(29_000);
  expect(await runs()).toEqual([]);
  await advance(1_000);
  expect(await runs()).toEqual([input(T, T + 29_000, 0)]);
});

test("retries one second after an error of the store", async () => {
  const { store, errors, start, settle, advance, runs } = open();
  await publishSchedules(store, [hourly()]);
  const down = new Error("no connection");
  let isDown = true;
  start({ nextScheduleDue: () => (isDown ? Promise.reject(down) : store.nextScheduleDue()) });
  await settle();
  expect(errors).toEqual([down]);
  isDown = false;
  await advance(1_000);
  expect(await runs()).toHaveLength(1);
});

test("waits a second if another replica is firing what is due", async () => {
  const { store, start, settle, advance, runs } = open();
  await publishSchedules(store, [hourly()]);
  let isLocked = true;
  let attempts = 0;
  start({
    fireSchedules(...args) {
      attempts += 1;
      return isLocked ? Promise.resolve(0) : store.fireSchedules(...args);
    },
  });
  await settle();
  await advance(1_000);
  expect(attempts).toBe(2); // at the start, and at the tick
  isLocked = false;
  await advance(1_000);
  expect(await runs()).toEqual([input(T, T + 1_000, 0)]);
});

test("a schedule whose time zone is unknown does not stop the others", async () => {
  const { store, errors, start, settle, advance, runs } = open();
  await publishSchedules(store, [
    { ...hourly({ timeZone: "Mars/Phobos" }), node_id: "bad" },
    { ...hourly(), node_id: "good" },
  ]);
  start();
  await settle();
  await advance(1_000);
  expect(await runs()).toHaveLength(1);
  expect(errors).toMatchObject([
    { message: expect.stringContaining("The schedule bad of the flow") },
  ]);
  await advance(HOUR);
  expect(await runs()).toHaveLength(2);
  expect(errors).toHaveLength(1);
});

test("fires more schedules than fit in one transaction", async () => {
  const { store, start, settle, advance } = open();
  const many = Array.from({ length: 120 }, (_, nth) => ({ ...hourly(), node_id: `tick ${nth}` }));
  await publishSchedules(store, many);
  start();
  await settle();
  await advance(1_000);
  await settle();
  expect(await store.countRuns("acme", "", 1000)).toMatchObject({ queued: 120 });
});

test("obeys the concurrency limit of the trigger", async () => {
  const { store, start, settle, advance, runs } = open();
  await publishSchedules(store, [hourly({ concurrency: { most: 1, whenFull: "skip" } })]);
  start();
  await settle();
  await advance(1_000);
  await advance(HOUR);
  expect(await runs()).toHaveLength(1);
  expect(await store.nextScheduleDue()).toBe(T + 2 * HOUR);
});

test("has no timer and fires nothing after close", async () => {
  const { store, timers, start, settle, advance, runs } = open();
  await publishSchedules(store, [hourly()]);
  const ticker = start();
  await settle();
  expect(timers.pending()).toBe(1);
  await ticker.close();
  expect(timers.pending()).toBe(0);
  await publishSchedules(store, [hourly()]);
  await advance(HOUR);
  expect(await runs()).toEqual([]);
});

describe("after the hub was down for three ticks", () => {
  const down = async (config: NewTrigger["config"]) => {
    const hub = open();
    await publishSchedules(hub.store, [hourly(config)]);
    await hub.advance(1_000 + 2 * HOUR + 10 * MINUTE);
    hub.start();
    await hub.settle();
    return hub;
  };

  test("`skip` starts no run until the next tick", async () => {
    const { advance, runs } = await down({ misfire: "skip" });
    expect(await runs()).toEqual([]);
    await advance(50 * MINUTE);
    expect(await runs()).toEqual([input(T + 3 * HOUR, T + 3 * HOUR, 0)]);
  });

  test("`once` starts one run, which reports 3 missed ticks", async () => {
    const { advance, runs } = await down({ misfire: "once" });
    const [first] = await runs();
    expect(await runs()).toEqual([input(T + 2 * HOUR, T + 2 * HOUR + 10 * MINUTE, 3)]);
    await advance(50 * MINUTE);
    expect(await runs()).toEqual([first, input(T + 3 * HOUR, T + 3 * HOUR, 0)]);
  });
});
