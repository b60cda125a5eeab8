import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { systemTimers } from "../../hosts/node/ports.ts";
import type { DatabaseFile } from "../../kernel/store/engine.ts";
import type { Retention, SweepResult } from "./model.ts";
import { readClock, startClock } from "./retention-clock.ts";
import { startSweeper } from "./sweeper.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const retention = { processedFor: 3, pendingFor: 90, maxBytes: 8192 };
const sweepResult = (counts: Partial<SweepResult> = {}): SweepResult => ({
  processed: 0,
  expired: 0,
  overflow: 0,
  runs: 0,
  hasMore: Object.keys(counts).length > 0,
  ...counts,
});

function start(results: (SweepResult | Error)[], file?: DatabaseFile) {
  const time = 1_000;
  const sweeps: Retention[] = [];
  const continued: string[] = [];
  const sweptTenants: [after: string, now: number][] = [];
  const sweptRuns: number[] = [];
  const sweptFlows: number[] = [];
  const logged: string[] = [];
  const counts: Record<string, number> = {};
  const note = (facts: object, message: string) =>
    void logged.push(`${message} ${"events" in facts ? facts.events : ""}`.trim());
  const stop = startSweeper({
    retention,
    keepRunsMs: 30,
    store: {
      ...(file && { file }),
      observeClock: async (reading) => readClock(startClock(0, 0), reading),
      async sweepRuns(endedBefore) {
        sweptRuns.push(endedBefore);
        return sweptRuns.length === 1 ? 500 : 0;
      },
      async sweepFlows(deletedBefore) {
        expect(sweptRuns.length).toBeGreaterThan(1);
        sweptFlows.push(deletedBefore);
        return sweptFlows.length === 1 ? 500 : 0;
      },
      async sweepSessions() {
        return 0;
      },
      sweepOAuth: async () => 0,
      sweepPeople: async () => 0,
      listDeletions: async () => ["acme", "umbrella"],
      async continueDeletion(tenant) {
        continued.push(tenant);
        return continued.length > 2;
      },
      async sweepTenants(after, { now }) {
        sweptTenants.push([after, now]);
        return { processed: 0, expired: 0, next: after === "" ? "acme" : null };
      },
      async sweep(options) {
        sweeps.push(options);
        const result = results.shift() ?? sweepResult();
        if (result instanceof Error) throw result;
        return result;
      },
    },
    onSwept: (reason, count) => {
      counts[reason] = (counts[reason] ?? 0) + count;
    },
    log: { warn: note, error: note },
    // Steps without duration have no pauses.
    timers: { ...systemTimers, now: () => time, monotonic: () => 0 },
    random: () => 0.5,
  });
  return { sweeps, continued, sweptTenants, sweptRuns, sweptFlows, logged, counts, stop };
}

it("sweeps every minute, with the retention from its options", async () => {
  const { sweeps, stop } = start([]);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(sweeps).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(sweeps).toEqual([expect.objectContaining({ now: 1_000, ...retention })]);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sweeps).toHaveLength(2);
  stop();
});

it("sweeps events until none is left to remove, counts them, and warns once per reason", async () => {
  const { sweeps, logged, counts, stop } = start([
    sweepResult({ processed: 500 }),
    sweepResult({ processed: 3, expired: 4 }),
    sweepResult({ expired: 1 }),
    sweepResult({ overflow: 7, runs: 2 }),
  ]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(sweeps).toHaveLength(5));
  await vi.waitFor(() => expect(logged).toHaveLength(2));
  expect(counts).toEqual({ processed: 503, expired: 5, overflow: 7 });
  expect(logged).toEqual([
    "pending events exceeded their retention and were removed 5",
    "a tenant exceeded its storage limit: its oldest events and ended runs were removed, pending events last 7",
  ]);
  stop();
});

it("sweeps ended runs and then deleted flows, until none is left to remove", async () => {
  const { sweptRuns, sweptFlows, logged, stop } = start([]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(sweptFlows).toEqual([970, 970]));
  expect(sweptRuns).toEqual([970, 970]);
  expect(logged).toEqual([]);
  stop();
});

it("does not warn about the removal of processed events", async () => {
  const { sweeps, logged, stop } = start([sweepResult({ processed: 9 })]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(sweeps).toHaveLength(2));
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  expect(logged).toEqual([]);
  stop();
});

it("sweeps again after a failure, but not after it was stopped", async () => {
  const { sweeps, logged, stop } = start([new Error("disk full")]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  expect(logged).toEqual(["retention failed; it will be tried again"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sweeps).toHaveLength(2);
  stop();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(sweeps).toHaveLength(2);
});

it("sweeps all tenants with their own retention times, and completes deletions of tenants", async () => {
  const { sweptTenants, continued, stop } = start([]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  expect(sweptTenants).toEqual([
    ["", 1_000],
    ["acme", 1_000],
  ]);
  expect(continued).toEqual(["acme", "acme", "acme", "umbrella"]);
  stop();
});

it("does not use the file after it was stopped", async () => {
  let isClosed = false;
  const { sweeps, stop } = start([sweepResult({ processed: 5 })], {
    canShrink: true,
    keepWalShort() {
      if (isClosed) throw new Error("the database is not open");
      // As if the hub were stopped during the first step.
      void Promise.resolve().then(() => {
        stop();
        isClosed = true;
      });
    },
    compact: async () => expect.unreachable(),
    truncateWal: async () => expect.unreachable(),
  });
  const rejections: unknown[] = [];
  const onRejection = (error: unknown) => void rejections.push(error);
  process.on("unhandledRejection", onRejection);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(isClosed).toBe(true));
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", onRejection);
  expect(rejections).toEqual([]);
  expect(sweeps).toHaveLength(1);
});

it("keeps the WAL short while it works, and then returns free pages to the file system", async () => {
  const calls: unknown[] = [];
  let left = 40;
  const { sweeps, stop } = start([sweepResult({ processed: 5 }), new Error("disk full")], {
    canShrink: true,
    keepWalShort: (isShort) => void calls.push(["short", isShort, sweeps.length]),
    async compact(pages) {
      left -= pages;
      return left > 0;
    },
    truncateWal: async () => void calls.push(["truncate", left <= 0]),
  });
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  expect(calls).toEqual([
    ["short", true, 0],
    ["short", false, 2],
  ]);
  expect(left).toBe(40);
  calls.length = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  expect(calls).toEqual([
    ["short", true, 2],
    ["truncate", true],
    ["short", false, 3],
  ]);
  stop();
});
