import { expect, test } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import type { ClaimedRun } from "../store/run-store.ts";
import { createClaimer } from "./claimer.ts";
import { createSlots } from "./slots.ts";

/** Creates a claimer, and a store with the due runs `due`. */
function open(due: string[], concurrency = 2) {
  const timers = createTestTimers();
  const claims: number[] = [];
  const errors: unknown[] = [];
  const executing = new Map<string, () => void>();
  const state = {
    nextDue: null as number | null,
    error: undefined as Error | undefined,
    onNextDue: () => {},
  };
  const claimer = createClaimer({
    store: {
      async claimRuns(_, limit) {
        if (state.error) throw state.error;
        claims.push(limit);
        return due.splice(0, limit).map((id) => ({ run: { id } }) as ClaimedRun);
      },
      async nextDue() {
        state.onNextDue();
        return state.nextDue;
      },
    },
    worker: "w",
    leaseMs: 300,
    timers,
    renewExpired: async () => {},
    slots: createSlots({ concurrency, isExecuting: (run) => executing.has(run) }),
    execute: ({ run }) => new Promise((resolve) => executing.set(run.id, resolve)),
    onError: (error) => errors.push(error),
  });
  /** Runs all deferred work. */
  const settle = async () => {
    for (let round = 0; round < 5; round += 1) {
      timers.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { timers, claims, errors, executing, state, claimer, settle };
}

test("claims as many runs as there are free slots, and another when a run ends", async () => {
  const { claims, executing, claimer, settle } = open(["a", "b", "c"]);
  claimer.claimDue();
  await settle();
  expect([...executing.keys()]).toEqual(["a", "b"]);
  executing.get("a")?.();
  await settle();
  expect([...executing.keys()]).toEqual(["a", "b", "c"]);
  expect(claims).toEqual([2, 1]);
});

test("claims again when the next run is due, but not earlier", async () => {
  const { timers, claims, state, claimer, settle } = open([]);
  state.nextDue = 5_000;
  claimer.claimDue();
  await settle();
  timers.advance(4_999);
  await settle();
  expect(claims).toEqual([2]);
  timers.advance(1);
  await settle();
  expect(claims).toEqual([2, 2]);
});

test("claims earlier if a notice reports that a run is due earlier, even during a claim", async () => {
  const { timers, claims, state, claimer, settle } = open([]);
  state.nextDue = 5_000;
  claimer.claimDue();
  await settle();
  claimer.claimAt(1_000);
  claimer.claimAt(9_000);
  state.onNextDue = () => claimer.claimAt(2_000);
  timers.advance(1_000);
  await settle();
  expect(claims).toEqual([2, 2]);
  state.onNextDue = () => {};
  timers.advance(1_000);
  await settle();
  expect(claims).toEqual([2, 2, 2]);
});

test("retries one second after an error of the store", async () => {
  const { timers, claims, errors, state, claimer, settle } = open([]);
  state.error = new Error("no connection");
  claimer.claimDue();
  await settle();
  expect(errors).toEqual([state.error]);
  state.error = undefined;
  timers.advance(1_000);
  await settle();
  expect(claims).toEqual([2]);
});

test("has no timer and claims nothing after close", async () => {
  const { timers, claims, claimer, settle } = open([]);
  claimer.claimDue();
  await settle();
  expect(timers.pending()).toBe(1);
  await claimer.close();
  expect(timers.pending()).toBe(0);
  claimer.claimDue();
  await settle();
  expect(claims).toEqual([2]);
});
