import { expect, test } from "vitest";
import { StorageUnavailable } from "../../kernel/store/availability.ts";
import type { RunProgress } from "./model.ts";
import { CannotBeSaved, createProgressCommit } from "./progress-commit.ts";

const progress = (run: string): RunProgress => ({ run, claim: 1, steps: [], now: 0 });

/** Saves to a fake store whose writes end when the test settles them. */
function openSlowStore() {
  const batches: { runs: string[]; end: PromiseWithResolvers<("saved" | "lost")[]> }[] = [];
  const store = {
    saveProgress(batch: readonly RunProgress[]) {
      const end = Promise.withResolvers<("saved" | "lost")[]>();
      batches.push({ runs: batch.map(({ run }) => run), end });
      return end.promise;
    },
    isDataError: (error: unknown) => error instanceof SyntaxError,
  };
  return { batches, save: createProgressCommit({ store, timers: { defer: setImmediate } }) };
}
/** Waits for two rounds of the event loop, because a write starts in the first. */
const nextRound = async () => {
  for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
};

test("writes concurrent progress in one batch, and later progress in the next batch", async () => {
  const { batches, save } = openSlowStore();
  const first = [save(progress("a")), save(progress("b"))];
  await nextRound();
  const second = [save(progress("c")), save(progress("a"))];
  await nextRound();
  expect(batches.map(({ runs }) => runs)).toEqual([["a", "b"]]);
  batches[0]?.end.resolve(["saved", "lost"]);
  expect(await Promise.all(first)).toEqual(["saved", "lost"]);
  await nextRound();
  expect(batches.map(({ runs }) => runs)).toEqual([
    ["a", "b"],
    ["c", "a"],
  ]);
  batches[1]?.end.resolve(["saved", "saved"]);
  expect(await Promise.all(second)).toEqual(["saved", "saved"]);
});

test("writes progress immediately if no write is in progress", async () => {
  const { batches, save } = openSlowStore();
  for (const run of ["a", "b", "c"]) {
    const saved = save(progress(run));
    await nextRound();
    batches.at(-1)?.end.resolve(["saved"]);
    await saved;
  }
  expect(batches.map(({ runs }) => runs)).toEqual([["a"], ["b"], ["c"]]);
});

test("limits the size of a batch", async () => {
  const { batches, save } = openSlowStore();
  for (let round = 0; round < 250; round += 1) void save(progress(String(round)));
  await nextRound();
  expect(batches[0]?.runs.length).toBe(200);
  batches[0]?.end.resolve([]);
  await nextRound();
  expect(batches[1]?.runs.length).toBe(50);
});

test("rejects the whole batch if the store fails, but not the next batch", async () => {
  const { batches, save } = openSlowStore();
  const first = Promise.allSettled(["a", "b", "c"].map((run) => save(progress(run))));
  await nextRound();
  const second = save(progress("d"));
  batches[0]?.end.reject(new Error("disk full"));
  await nextRound();
  expect((await first).map((result) => (result as PromiseRejectedResult).reason.message)).toEqual([
    "disk full",
    "disk full",
    "disk full",
  ]);
  expect(batches.map(({ runs }) => runs.join())).toEqual(["a,b,c", "d"]);
  batches[1]?.end.resolve(["saved"]);
  expect(await second).toBe("saved");
});

const INVALID_VALUES: [string, Error, Partial<RunProgress>][] = [
  ["is rejected by the store", new SyntaxError("null byte"), {}],
  ["is too long", new RangeError("Invalid string length"), {}],
  [
    "is not JSON",
    new TypeError("cyclic"),
    { next: { status: "succeeded", output: 1n as unknown as null } },
  ],
];
test.each(INVALID_VALUES)("rejects only the run of a value that %s", async (_, error, fields) => {
  const save = createProgressCommit({
    store: {
      saveProgress: async (batch) => {
        if (batch.some(({ run }) => run === "bad")) throw error;
        return batch.map(({ run }) => (run === "lost" ? "lost" : "saved"));
      },
      isDataError: (error) => error instanceof SyntaxError,
    },
    timers: { defer: setImmediate },
  });
  const bad = save({ ...progress("bad"), ...fields });
  const others = Promise.all([save(progress("a")), save(progress("lost"))]);
  await expect(bad).rejects.toThrow(CannotBeSaved);
  await expect(bad).rejects.toThrow(error.message);
  expect(await others).toEqual(["saved", "lost"]);
});

test("rethrows any other error of the store", async () => {
  const error = new TypeError("socket is undefined");
  const save = createProgressCommit({
    store: { saveProgress: () => Promise.reject(error), isDataError: () => false },
    timers: { defer: setImmediate },
  });
  await expect(save(progress("a"))).rejects.toBe(error);
});

test("does not serialize the values again when the storage is unavailable", async () => {
  const save = createProgressCommit({
    store: {
      saveProgress: () => Promise.reject(new StorageUnavailable("down")),
      isDataError: () => false,
    },
    timers: { defer: setImmediate },
  });
  let serializations = 0;
  const output = { toJSON: () => String(++serializations) } as unknown as null;
  const next = { status: "succeeded", output } as const;
  await expect(save({ ...progress("a"), next })).rejects.toBeInstanceOf(StorageUnavailable);
  expect(serializations).toBe(0);
});

test("yields to the event loop before each write to a synchronous store", async () => {
  const save = createProgressCommit({
    store: { saveProgress: async (batch) => batch.map(() => "saved"), isDataError: () => false },
    timers: { defer: setImmediate },
  });
  let rounds = 0;
  const counting = setImmediate(function countRound() {
    rounds += 1;
    if (rounds < 1_000) setImmediate(countRound);
  });
  for (let step = 0; step < 20; step += 1) await save(progress("a"));
  clearImmediate(counting);
  expect(rounds).toBeGreaterThanOrEqual(19);
});
