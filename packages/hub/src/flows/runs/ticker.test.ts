import { describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import type { NewTrigger } from "../model.ts";
import { publishSchedules, scheduleTrigger } from "../store/contract/schedules.ts";
import { createTicker } from "./ticker.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const FIRST_TICK = Date.UTC(2026, 10, 16, 9);

/** Opens a new store. The clock is one second before the first tick. */
function open() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  const timers = createTestTimers(FIRST_TICK - 1000);
  const errors: unknown[] = [];
  onTestFinished(async () => void (await store.close()));
  const start = (overrides: Partial<Store> = {}) => {
    const ticker = createTicker({
      store: { ...store, ...overrides },
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

const scheduleOf = (cron: string, next_at: number, config: NewTrigger["config"] = {}) =>
  scheduleTrigger({
    config: { cron, timeZone: "UTC", misfire: "once", ...config },
    schedule: { cron, time_zone: "UTC", next_at },
  });
const hourly = (config: NewTrigger["config"] = {}) => scheduleOf("0 * * * *", FIRST_TICK, config);

const runInput = (scheduled: number, fired: number, missed: number) => ({
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
  expect(await runs()).toEqual([runInput(FIRST_TICK, FIRST_TICK, 0)]);
  await advance(HOUR - 1);
  expect(await runs()).toHaveLength(1);
  await advance(1);
  expect(await runs()).toEqual([
    runInput(FIRST_TICK, FIRST_TICK, 0),
    runInput(FIRST_TICK + HOUR, FIRST_TICK + HOUR, 0),
  ]);
  expect((await store.listRuns({ tenant: "acme", limit: 1 }))[0]).toMatchObject({
    flow_id: flow.id,
    version: 1,
    trigger_node: "tick",
    cause: "schedule",
    key: `schedule:${flow.id}:tick:${new Date(FIRST_TICK + HOUR).toISOString()}`,
    status: "queued",
    depth: 0,
  });
});

test("fires a schedule that is published after its start, even if it is due before the others", async () => {
  const { store, start, settle, advance, runs } = open();
  start();
  await settle();
  await publishSchedules(store, [hourly()]);
  await settle();
  await publishSchedules(store, [scheduleOf("* * * * *", FIRST_TICK - 500)]);
  await advance(500);
  expect(await runs()).toMatchObject([{ scheduled_at: new Date(FIRST_TICK - 500).toISOString() }]);
  await advance(500);
  expect(await runs()).toHaveLength(3);
});

test("fires a schedule of another replica at most 30 s late if its notice was lost", async () => {
  const { store, start, settle, advance, runs } = open();
  start({ subscribe: () => () => {} });
  await settle();
  await publishSchedules(store, [hourly()]);
  await advance(29_000);
  expect(await runs()).toEqual([]);
  await advance(1_000);
  expect(await runs()).toEqual([runInput(FIRST_TICK, FIRST_TICK + 29_000, 0)]);
});

test("retries one second after an error of the store", async () => {
  const { store, errors, start, settle, advance, runs } = open();
  await publishSchedules(store, [hourly()]);
  const storeError = new Error("no connection");
  let isDown = true;
  start({ nextScheduleDue: () => (isDown ? Promise.reject(storeError) : store.nextScheduleDue()) });
  await settle();
  expect(errors).toEqual([storeError]);
  isDown = false;
  await advance(1_000);
  expect(await runs()).toHaveLength(1);
});

test("tries again after a second if another replica is firing the due schedule", async () => {
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
  expect(await runs()).toEqual([runInput(FIRST_TICK, FIRST_TICK + 1_000, 0)]);
});

test("stops a schedule whose time zone is unknown, and fires the others", async () => {
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
  const many = Array.from({ length: 120 }, (_, index) => ({
    ...hourly(),
    node_id: `tick ${index}`,
  }));
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
  expect(await store.nextScheduleDue()).toBe(FIRST_TICK + 2 * HOUR);
});

test("has no timer and fires no schedule after close", async () => {
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
  const openAfterDowntime = async (config: NewTrigger["config"]) => {
    const hub = open();
    await publishSchedules(hub.store, [hourly(config)]);
    await hub.advance(1_000 + 2 * HOUR + 10 * MINUTE);
    hub.start();
    await hub.settle();
    return hub;
  };

  test("`skip` starts no run until the next tick", async () => {
    const { advance, runs } = await openAfterDowntime({ misfire: "skip" });
    expect(await runs()).toEqual([]);
    await advance(50 * MINUTE);
    expect(await runs()).toEqual([runInput(FIRST_TICK + 3 * HOUR, FIRST_TICK + 3 * HOUR, 0)]);
  });

  test("`once` starts one run, which reports 3 missed ticks", async () => {
    const { advance, runs } = await openAfterDowntime({ misfire: "once" });
    const [first] = await runs();
    expect(await runs()).toEqual([
      runInput(FIRST_TICK + 2 * HOUR, FIRST_TICK + 2 * HOUR + 10 * MINUTE, 3),
    ]);
    await advance(50 * MINUTE);
    expect(await runs()).toEqual([
      first,
      runInput(FIRST_TICK + 3 * HOUR, FIRST_TICK + 3 * HOUR, 0),
    ]);
  });
});
