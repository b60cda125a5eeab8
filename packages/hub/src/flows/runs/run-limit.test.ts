import { expect, test } from "vitest";
import { createRunLimit } from "./run-limit.ts";

function open(max: number) {
  const executing = new Set<string>();
  const limit = createRunLimit({ max, isExecuting: (run) => executing.has(run) });
  /** Claims a run, which then executes here as a claimed run. */
  const claim = (run: string) => {
    executing.add(run);
    return limit.occupy(run);
  };
  return { executing, limit, claim };
}

test("subtracts claimed runs from the free slots", () => {
  const { limit, claim } = open(2);
  const release = claim("a");
  claim("b");
  expect(limit.countFree()).toBe(0);
  release();
  expect(limit.countFree()).toBe(1);
});

test("keeps the new slot of a run that was claimed again", () => {
  const { limit, claim } = open(1);
  const releaseFirst = claim("a");
  claim("a");
  releaseFirst();
  expect(limit.countFree()).toBe(0);
});

test("keeps the slot of a caller while the called run executes here without a slot", () => {
  const { limit, claim, executing } = open(1);
  claim("caller");
  executing.add("called");
  limit.addCall("caller", "called");
  expect(limit.countFree()).toBe(0);
});

test("releases the slot of a caller while the called run needs or has its own slot", () => {
  const { limit, claim, executing } = open(1);
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
  const { limit, claim, executing } = open(1);
  claim("caller");
  executing.add("called");
  limit.addCall("caller", "called");
  limit.addCall("called", "third");
  expect(limit.countFree()).toBe(1);
});

test("gives free slots to runs that continue after a call, in order", async () => {
  const { limit, claim } = open(1);
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
  const { limit } = open(0);
  await limit.readmit("started by a caller");
});

test("gives no slot to a run that no longer waits for one", () => {
  const { limit, claim } = open(1);
  claim("a");
  const releaseB = claim("b");
  void limit.readmit("b");
  limit.removeWaiting("b");
  releaseB();
  limit.admitWaiting();
  expect(limit.countFree()).toBe(0);
});
