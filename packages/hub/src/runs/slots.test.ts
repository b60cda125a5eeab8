import { expect, test } from "vitest";
import { createSlots } from "./slots.ts";

function open(concurrency: number) {
  const executing = new Set<string>();
  const slots = createSlots({ concurrency, isExecuting: (run) => executing.has(run) });
  /** Claims a run, which then executes here with a slot. */
  const claim = (run: string) => {
    executing.add(run);
    return slots.occupy(run);
  };
  return { executing, slots, claim };
}

test("subtracts claimed runs from the free slots", () => {
  const { slots, claim } = open(2);
  const release = claim("a");
  claim("b");
  expect(slots.countFree()).toBe(0);
  release();
  expect(slots.countFree()).toBe(1);
});

test("keeps the new slot of a run that was claimed again", () => {
  const { slots, claim } = open(1);
  const releaseFirst = claim("a");
  claim("a");
  releaseFirst();
  expect(slots.countFree()).toBe(0);
});

test("keeps the slot of a caller while the called run executes here without a slot", () => {
  const { slots, claim, executing } = open(1);
  claim("caller");
  executing.add("called");
  slots.addCall("caller", "called");
  expect(slots.countFree()).toBe(0);
});

test("releases the slot of a caller while the called run needs or has its own slot", () => {
  const { slots, claim, executing } = open(1);
  claim("caller");
  const endCall = slots.addCall("caller", "called");
  expect(slots.countFree()).toBe(1);
  claim("called");
  expect(slots.countFree()).toBe(0);
  endCall();
  executing.delete("called");
  expect(slots.countFree()).toBe(-1);
});

test("releases the slot of a caller while the called run waits for a third run", () => {
  const { slots, claim, executing } = open(1);
  claim("caller");
  executing.add("called");
  slots.addCall("caller", "called");
  slots.addCall("called", "third");
  expect(slots.countFree()).toBe(1);
});

test("gives free slots to runs that continue after a call, in order", async () => {
  const { slots, claim } = open(1);
  const [releaseA, , releaseC] = ["a", "b", "c"].map(claim);
  const continued: string[] = [];
  for (const run of ["a", "b", "c"]) void slots.acquireSlot(run).then(() => continued.push(run));
  const admitted = async () => {
    slots.admitWaiting();
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
  const { slots } = open(0);
  await slots.acquireSlot("started by a caller");
});

test("gives no slot to a run that no longer waits for one", () => {
  const { slots, claim } = open(1);
  claim("a");
  const releaseB = claim("b");
  void slots.acquireSlot("b");
  slots.removeWaiting("b");
  releaseB();
  slots.admitWaiting();
  expect(slots.countFree()).toBe(0);
});
