import { expect, test } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { type Claimer, createClaimer } from "./claimer.ts";
import type { ClaimedRun } from "./model.ts";
import { createRunLimit } from "./run-limit.ts";
import { createRunMemory, RUN_BYTES } from "./run-memory.ts";
import { createWorkSlots, WORK_SLOTS } from "./work-slots.ts";

/** The flow of all runs. */
const PATH = ["tenant", "app", "flow"];

/** Creates a claimer, and a store with the due runs `due`. */
function open(due: string[], { max = 2, memory = 10_000 } = {}) {
  const timers = createTestTimers();
  const claims: number[] = [];
  const errors: unknown[] = [];
  const executing = new Map<string, () => void>();
  const state = {
    nextDue: null as number | null,
    error: undefined as Error | undefined,
    nextDueAfter: [] as (number | undefined)[],
    onNextDue: () => {},
  };
  const slots = createWorkSlots({ timers, onFree: () => claimer.onSlotFree() });
  const runMemory = createRunMemory(memory * RUN_BYTES);
  const claimer: Claimer = createClaimer({
    store: {
      async claimRuns(_, limit, shares) {
        if (state.error) throw state.error;
        claims.push(limit);
        const draft = shares.draft();
        if (draft.room(PATH) < 1 && due.length > 0) {
          draft.leaveOut(PATH);
          return [];
        }
        return due.splice(0, limit).map((id) => ({ run: { id } }) as ClaimedRun);
      },
      async nextDue(after) {
        state.nextDueAfter.push(after);
        state.onNextDue();
        return state.nextDue;
      },
    },
    worker: "w",
    leaseMs: 300,
    timers,
    renewExpired: async () => {},
    limit: createRunLimit({ max, isExecuting: (run) => executing.has(run) }),
    slots,
    memory: runMemory,
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
  return { timers, claims, errors, executing, state, claimer, settle, slots, runMemory };
}

test("claims as many runs as the limit allows, and another when a run ends", async () => {
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

test("claims again when a slot is free, only if a claim has left out runs for it", async () => {
  const { claims, state, executing, claimer, settle, slots } = open(["a"], { max: 100 });
  const releases = Array.from(
    { length: WORK_SLOTS },
    () => slots.shares.room(PATH) >= 1 && slots.tryAcquire(PATH),
  );
  const held = releases.filter((release) => release !== false);
  claimer.claimDue();
  await settle();
  expect([...executing.keys()]).toEqual([]);
  expect(state.nextDueAfter).toEqual([0]); // the due run must not cause another claim at once
  for (const release of held) release?.();
  await settle();
  expect([...executing.keys()]).toEqual(["a"]);
  const before = claims.length;
  slots.tryAcquire(PATH)?.();
  await settle();
  expect(claims).toHaveLength(before);
});

test("claims no more runs than the memory allows, and another when a run ends", async () => {
  const { claims, executing, claimer, settle, runMemory } = open(["a", "b"], {
    max: 100,
    memory: 2,
  });
  const run = runMemory.open("first", ["other tenant"]);
  run.add(RUN_BYTES / 2);
  claimer.claimDue();
  await settle();
  expect([[...executing.keys()], claims]).toEqual([[], []]);
  run.close();
  claimer.claimDue();
  await settle();
  expect([...executing.keys()]).toEqual(["a", "b"]);
});
