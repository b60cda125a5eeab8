import { expect, test } from "vitest";
import { StorageUnavailable } from "../storage-unavailable.ts";
import { bindVerbs } from "./index.ts";

/** A table with one verb, which writes, and then reads. */
const bind = (read: () => Promise<unknown>) =>
  bindVerbs(
    { claimRuns: { writes: true, thenReads: true, run: () => "write" } } as never,
    (async (verb: () => unknown, writes: boolean) => (writes ? verb : read())) as never,
  );
const lease = { worker: "ada", now: 0, until: 1 };

test("repeats the read after a committed write while the storage is unavailable", async () => {
  let reads = 0;
  const { claimRuns } = bind(async () => {
    reads += 1;
    if (reads < 3) throw new StorageUnavailable("the connection was lost");
    return ["claimed"];
  });
  expect(await claimRuns(lease, 1)).toEqual(["claimed"]);
  expect(reads).toBe(3);
});

test("does not repeat a read that fails for another reason", async () => {
  let reads = 0;
  const { claimRuns } = bind(async () => {
    reads += 1;
    throw new Error("wrong");
  });
  await expect(claimRuns(lease, 1)).rejects.toThrow("wrong");
  expect(reads).toBe(1);
});
