import { expect, test } from "vitest";
import { createHeartbeat } from "./heartbeat.ts";
import { createTestTimers } from "./test-timers.ts";

function open(renew?: () => Promise<void>) {
  const timers = createTestTimers();
  const held = new Set<string>();
  const renewed: { at: number; until: number; ids: readonly string[] }[] = [];
  const errors: unknown[] = [];
  const heartbeat = createHeartbeat({
    async renew(ids, { now, until }) {
      renewed.push({ at: now, until, ids });
      await renew?.();
    },
    leaseMs: 300,
    timers,
    held: () => [...held],
    onError: (error) => errors.push(error),
  });
  return { timers, held, renewed, errors, heartbeat };
}

test("renews leases after each third of their duration while items are held", () => {
  const { timers, held, renewed, heartbeat } = open();
  held.add("a");
  heartbeat.start();
  heartbeat.start();
  timers.advance(200);
  expect(renewed).toEqual([
    { at: 100, until: 400, ids: ["a"] },
    { at: 200, until: 500, ids: ["a"] },
  ]);
});

test("has no timer while no item is held", () => {
  const { timers, held, renewed, heartbeat } = open();
  expect(timers.pending()).toBe(0);
  held.add("a");
  heartbeat.start();
  held.delete("a");
  timers.advance(100);
  expect(renewed).toEqual([]);
  expect(timers.pending()).toBe(0);
  held.add("b");
  heartbeat.start();
  expect(timers.pending()).toBe(1);
  heartbeat.stop();
  expect(timers.pending()).toBe(0);
});

test("renews leases again after an error of the store", async () => {
  const error = new Error("no connection");
  const { timers, held, renewed, errors, heartbeat } = open(() => Promise.reject(error));
  held.add("a");
  heartbeat.start();
  timers.advance(100);
  await expect.poll(() => errors).toEqual([error]);
  timers.advance(100);
  expect(renewed.length).toBe(2);
});

test("renews expired leases although the clock was set back", async () => {
  const { timers, held, renewed, heartbeat } = open();
  held.add("a");
  heartbeat.start();
  heartbeat.stop();
  timers.advance(300);
  timers.stepClock(-3_600_000);
  await heartbeat.renewExpired();
  expect(renewed).toHaveLength(1);
});

test("renews leases on request only if they may have expired", async () => {
  const state = { fails: true };
  const { timers, held, renewed, heartbeat } = open(async () => {
    if (state.fails) throw new Error("no connection");
  });
  await heartbeat.renewExpired();
  held.add("a");
  heartbeat.start();
  timers.advance(299);
  await heartbeat.renewExpired();
  expect(renewed.length).toBe(2); // by the timer
  timers.advance(1);
  await expect(heartbeat.renewExpired()).rejects.toThrow("no connection");
  state.fails = false;
  await heartbeat.renewExpired();
  expect(renewed.length).toBe(5);
  await heartbeat.renewExpired();
  expect(renewed.at(-1)).toEqual({ at: 300, until: 600, ids: ["a"] });
  expect(renewed.length).toBe(5);
});
