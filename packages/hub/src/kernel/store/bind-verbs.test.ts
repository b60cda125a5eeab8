import { expect, test } from "vitest";
import { ALL_SHARES } from "./run-store.ts";
import { StorageUnavailable } from "./storage-unavailable.ts";
import { bindVerbs } from "./verbs.ts";

/** Binds a table with one verb: a write that is followed by two reads. */
const bind = (read: () => void) =>
  bindVerbs(
    { claimRuns: { writes: true, thenReads: true, run: readTwice } } as never,
    (async (verb: () => unknown, writes: boolean) => (writes ? verb() : read())) as never,
  );
function* readTwice() {
  yield;
  yield;
  return ["claimed"];
}
const lease = { worker: "ada", now: 0, until: 1 };

test("repeats a read that follows a committed write while the storage is unavailable", async () => {
  let reads = 0;
  const { claimRuns } = bind(() => {
    reads += 1;
    if (reads < 3) throw new StorageUnavailable("the connection was lost");
  });
  expect(await claimRuns(lease, 1, ALL_SHARES)).toEqual(["claimed"]);
  expect(reads).toBe(4);
});

test("does not repeat a read that fails for another reason", async () => {
  let reads = 0;
  const { claimRuns } = bind(() => {
    reads += 1;
    throw new Error("wrong");
  });
  await expect(claimRuns(lease, 1, ALL_SHARES)).rejects.toThrow("wrong");
  expect(reads).toBe(1);
});

test("yields to the event loop between long reads", async () => {
  let timers = 0;
  const { claimRuns } = bind(() => {
    const until = performance.now() + 20;
    while (performance.now() < until);
    setTimeout(() => (timers += 1), 0);
  });
  await claimRuns(lease, 1, ALL_SHARES);
  expect(timers).toBe(2);
});
