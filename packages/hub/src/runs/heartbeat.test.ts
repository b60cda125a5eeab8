import { expect, test } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import { createHeartbeat } from "./heartbeat.ts";

function open(renewRuns?: () => Promise<{ cancel: string[] }>) {
  const timers = createTestTimers();
  const executing = new Set<string>();
  const renewed: { at: number; until: number; runs: readonly string[] }[] = [];
  const cancelled: string[] = [];
  const errors: unknown[] = [];
  const heartbeat = createHeartbeat({
    store: {
      async renewRuns({ now, until }, runs) {
        renewed.push({ at: now, until, runs });
        return (await renewRuns?.()) ?? { cancel: [] };
      },
    },
    worker: "w",
    leaseMs: 300,
    timers,
    executing: () => [...executing],
    cancel: (run) => cancelled.push(run),
    onError: (error) => errors.push(error),
  });
  return { timers, executing, renewed, cancelled, errors, heartbeat };
}

test("renews leases after each third of their duration while runs execute", () => {
  const { timers, executing, renewed, heartbeat } = open();
  executing.add("a");
  heartbeat.start();
  heartbeat.start();
  timers.advance(200);
  expect(renewed).toEqual([
    { at: 100, until: 400, runs: ["a"] },
    { at: 200, until: 500, runs: ["a"] },
  ]);
});

test("has no timer while no run executes", () => {
  const { timers, executing, renewed, heartbeat } = open();
  expect(timers.pending()).toBe(0);
  executing.add("a");
  heartbeat.start();
  executing.delete("a");
  timers.advance(100);
  expect(renewed).toEqual([]);
  expect(timers.pending()).toBe(0);
  executing.add("b");
  heartbeat.start();
  expect(timers.pending()).toBe(1);
  heartbeat.stop();
  expect(timers.pending()).toBe(0);
});

test("cancels the runs for which the store returns a cancellation", async () => {
  const { timers, executing, cancelled, heartbeat } = open(async () => ({ cancel: ["a"] }));
  executing.add("a");
  heartbeat.start();
  timers.advance(100);
  await expect.poll(() => cancelled).toEqual(["a"]);
});

test("renews leases again after an error of the store", async () => {
  const error = new Error("no connection");
  const { timers, executing, renewed, errors, heartbeat } = open(() => Promise.reject(error));
  executing.add("a");
  heartbeat.start();
  timers.advance(100);
  await expect.poll(() => errors).toEqual([error]);
  timers.advance(100);
  expect(renewed.length).toBe(2);
});
