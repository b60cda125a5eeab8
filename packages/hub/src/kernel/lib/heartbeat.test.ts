import { expect, test } from "vitest";
import { createHeartbeat } from "./heartbeat.ts";
import { createTestTimers } from "./test-timers.ts";

function setUp(renew?: () => Promise<void>) {
  const timers = createTestTimers();
  const heldIds = new Set<string>();
  const renewed: { at: number; until: number; ids: readonly string[] }[] = [];
  const errors: unknown[] = [];
  const heartbeat = createHeartbeat({
    async renew(ids, { now, until }) {
      renewed.push({ at: now, until, ids });
      await renew?.();
    },
    leaseMs: 300,
    timers,
    heldIds: () => [...heldIds],
    onError: (error) => errors.push(error),
  });
  return { timers, heldIds, renewed, errors, heartbeat };
}

test("renews leases after each third of their duration while items are held", () => {
  const { timers, heldIds, renewed, heartbeat } = setUp();
  heldIds.add("a");
  heartbeat.start();
  heartbeat.start();
  timers.advance(200);
  expect(renewed).toEqual([
    { at: 100, until: 400, ids: ["a"] },
    { at: 200, until: 500, ids: ["a"] },
  ]);
});

test("has no timer while no item is held", () => {
  const { timers, heldIds, renewed, heartbeat } = setUp();
  expect(timers.pending()).toBe(0);
  heldIds.add("a");
  heartbeat.start();
  heldIds.delete("a");
  timers.advance(100);
  expect(renewed).toEqual([]);
  expect(timers.pending()).toBe(0);
  heldIds.add("b");
  heartbeat.start();
  expect(timers.pending()).toBe(1);
  heartbeat.stop();
  expect(timers.pending()).toBe(0);
});

test("continues to renew leases after an error of the store", async () => {
  const error = new Error("no connection");
  const { timers, heldIds, renewed, errors, heartbeat } = setUp(() => Promise.reject(error));
  heldIds.add("a");
  heartbeat.start();
  timers.advance(100);
  await expect.poll(() => errors).toEqual([error]);
  timers.advance(100);
  expect(renewed.length).toBe(2);
});

test("renews expired leases although the clock was set back", async () => {
  const { timers, heldIds, renewed, heartbeat } = setUp();
  heldIds.add("a");
  heartbeat.start();
  heartbeat.stop();
  timers.advance(300);
  timers.stepClock(-3_600_000);
  await heartbeat.renewExpired();
  expect(renewed).toHaveLength(1);
});

test("renews leases on request only if they may have expired", async () => {
  const store = { fails: true };
  const { timers, heldIds, renewed, heartbeat } = setUp(async () => {
    if (store.fails) throw new Error("no connection");
  });
  await heartbeat.renewExpired();
  heldIds.add("a");
  heartbeat.start();
  timers.advance(299);
  await heartbeat.renewExpired();
  expect(renewed.length).toBe(2); // both by the timer
  timers.advance(1);
  await expect(heartbeat.renewExpired()).rejects.toThrow("no connection");
  store.fails = false;
  await heartbeat.renewExpired();
  expect(renewed.length).toBe(5);
  await heartbeat.renewExpired();
  expect(renewed.at(-1)).toEqual({ at: 300, until: 600, ids: ["a"] });
  expect(renewed.length).toBe(5);
});
