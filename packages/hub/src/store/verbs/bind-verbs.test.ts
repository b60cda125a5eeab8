import { expect, test } from "vitest";
import { StorageUnavailable } from "../storage-unavailable.ts";
import { bindVerbs } from "./index.ts";

/** A table with one verb, which writes, and then reads twice. */
const bind = (read: () => void) =>
  bindVerbs(
    { claimRuns: { writes: true, thenReads: true, run: reads } } as never,
    (async (verb: () => unknown, writes: boolean) => (writes ? verb() : read())) as never,
  );
function* reads() {
  yield;
  yield;
  return ["claimed"];
}
const lease = { worker: "ada", now: 0, until: 1 };

test("repeats the read after a committed write while the storage is unavailable", async () => {
  let reads = 0;
  const { claimRuns } = bind(() => {
    reads += 1;
    if (reads < 3) throw new StorageUnavailable("the connection was lost");
  });
  expect(await claimRuns(lease, 1)).toEqual(["claimed"]);
  expect(reads).toBe(4);
});

test("does not repeat a read that fails for another reason", async () => {
  let reads = 0;
  const { claimRuns } = bind(() => {
    reads += 1;
    throw new Error("wrong");
  });
  await expect(claimRuns(lease, 1)).rejects.toThrow("wrong");
  expect(reads).toBe(1);
});

test("lets other work run between long reads", async () => {
  let others = 0;
  const { claimRuns } = bind(() => {
    const until = performance.now() + 20;
    while (performance.now() < until);
    setTimeout(() => (others += 1), 0);
  });
  await claimRuns(lease, 1);
  expect(others).toBe(2);
});
