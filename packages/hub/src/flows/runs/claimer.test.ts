import { expect, test } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { createWorkSlots, WORK_SLOTS } from "./activity.ts";
import {
  type Claimer,
  createClaimer,
  createRunLimit,
  createRunMemory,
  RUN_BYTES,
} from "./claimer.ts";
import type { ClaimedRun } from "./model.ts";

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
  const slots = createWorkSlots(timers, () => claimer.onSlotFree());
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
    limit: createRunLimit(max, (run) => executing.has(run)),
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

function openLimit(max: number) {
  const executing = new Set<string>();
  const limit = createRunLimit(max, (run) => executing.has(run));
  /** Claims a run, which then executes here as a claimed run. */
  const claim = (run: string) => {
    executing.add(run);
    return limit.occupy(run);
  };
  return { executing, limit, claim };
}

test("subtracts claimed runs from the free slots", () => {
  const { limit, claim } = openLimit(2);
  const release = claim("a");
  claim("b");
  expect(limit.countFree()).toBe(0);
  release();
  expect(limit.countFree()).toBe(1);
});

test("keeps the new slot of a run that was claimed again", () => {
  const { limit, claim } = openLimit(1);
  const releaseFirst = claim("a");
  claim("a");
  releaseFirst();
  expect(limit.countFree()).toBe(0);
});

test("keeps the slot of a caller while the called run executes here without a slot", () => {
  const { limit, claim, executing } = openLimit(1);
  claim("caller");
  executing.add("called");
  limit.addCall("caller", "called");
  expect(limit.countFree()).toBe(0);
});

test("releases the slot of a caller while the called run needs or has its own slot", () => {
  const { limit, claim, executing } = openLimit(1);
  claim("caller");
  const endCall = limit.addCall("caller", "called");
  expect(limit.countFree()).toBe(1);
  claim("called");
  expect(limit.countFree()).toBe(0);
  endCall();
  executing.delete("called");
  expect(limit.countFree()).toBe(-1);
});

test("releases the slot of a caller while the called run waits for a third run", () => {
  const { limit, claim, executing } = openLimit(1);
  claim("caller");
  executing.add("called");
  limit.addCall("caller", "called");
  limit.addCall("called", "third");
  expect(limit.countFree()).toBe(1);
});

test("gives free slots to runs that continue after a call, in order", async () => {
  const { limit, claim } = openLimit(1);
  const [releaseA, , releaseC] = ["a", "b", "c"].map(claim);
  const continued: string[] = [];
  for (const run of ["a", "b", "c"]) void limit.readmit(run).then(() => continued.push(run));
  const admitted = async () => {
    limit.admitWaiting();
    await Promise.resolve();
    return continued;
  };
  expect(await admitted()).toEqual(["c"]);
  releaseC?.();
  expect(await admitted()).toEqual(["c", "a"]);
  releaseA?.();
  expect(await admitted()).toEqual(["c", "a", "b"]);
});

test("does not delay a run that was started without a slot", async () => {
  const { limit } = openLimit(0);
  await limit.readmit("started by a caller");
});

test("gives no slot to a run that no longer waits for one", () => {
  const { limit, claim } = openLimit(1);
  claim("a");
  const releaseB = claim("b");
  void limit.readmit("b");
  limit.removeWaiting("b");
  releaseB();
  limit.admitWaiting();
  expect(limit.countFree()).toBe(0);
});

test("counts what a run keeps until it closes", () => {
  const memory = createRunMemory(100 * RUN_BYTES);
  const run = memory.open("a", PATH);
  run.add(500);
  const again = memory.open("a", PATH); // claimed again after its lease had expired
  expect(memory.used).toBe(2 * RUN_BYTES + 500);
  run.close();
  run.add(0);
  run.close();
  expect(memory.used).toBe(RUN_BYTES);
  again.close();
  expect(memory.used).toBe(0);
});

test("does not count a run while it waits for runs that it has called", () => {
  const memory = createRunMemory(100 * RUN_BYTES);
  const run = memory.open("caller", PATH);
  const ends = [memory.pause("caller"), memory.pause("caller")];
  expect(memory.used).toBe(0);
  run.add(100);
  ends[0]?.();
  expect(memory.used).toBe(0);
  ends[1]?.();
  expect(memory.used).toBe(RUN_BYTES + 100);
  const end = memory.pause("caller");
  run.close();
  end();
  expect(memory.used).toBe(0);
  memory.pause("unknown")();
  expect(memory.used).toBe(0);
});
