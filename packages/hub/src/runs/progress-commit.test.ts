import { expect, test } from "vitest";
import type { RunProgress } from "../store/run-store.ts";
import { StorageUnavailable } from "../store/storage-unavailable.ts";
import { CannotBeSaved, createProgressCommit } from "./progress-commit.ts";

const progress = (run: string): RunProgress => ({ run, claim: 1, steps: [], now: 0 });

/** A store whose writes end when the test settles them. */
function slowStore() {
  const batches: { runs: string[]; end: PromiseWithResolvers<("saved" | "lost")[]> }[] = [];
  const store = {
    saveProgress(batch: RunProgress[]) {
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
  for (let at = 0; at < 2; at += 1) await new Promise((resolve) => setImmediate(resolve));
};

test("writes concurrent progress in one batch, and later progress in the next batch", async () => {
  const { batches, save } = slowStore();
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

test("writes a single progress immediately", async () => {
  const { batches, save } = slowStore();
  for (const run of ["a", "b", "c"]) {
    const saved = save(progress(run));
    await nextRound();
    batches.at(-1)?.end.resolve(["saved"]);
    await saved;
  }
  expect(batches.map(({ runs }) => runs)).toEqual([["a"], ["b"], ["c"]]);
});

test("limits the size of a batch", async () => {
  const { batches, save } = slowStore();
  for (let at = 0; at < 250; at += 1) void save(progress(String(at)));
  await nextRound();
  expect(batches[0]?.runs.length).toBe(200);
  batches[0]?.end.resolve([]);
  await nextRound();
  expect(batches[1]?.runs.length).toBe(50);
});

test("rejects the whole batch if the store fails, but not the next batch", async () => {
  const { batches, save } = slowStore();
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

const invalid: [string, Error, Partial<RunProgress>][] = [
  ["the store rejects", new SyntaxError("null byte"), {}],
  ["is too long", new RangeError("Invalid string length"), {}],
  [
    "is not JSON",
    new TypeError("cyclic"),
    { next: { status: "succeeded", output: 1n as unknown as null } },
  ],
];
test.each(invalid)("a value that %s fails only its own run", async (_, error, fields) => {
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
  let serialized = 0;
  const output = { toJSON: () => String(++serialized) } as unknown as null;
  const next = { status: "succeeded", output } as const;
  await expect(save({ ...progress("a"), next })).rejects.toBeInstanceOf(StorageUnavailable);
  expect(serialized).toBe(0);
});

test("yields to the event loop before each write to a synchronous store", async () => {
  const save = createProgressCommit({
    store: { saveProgress: async (batch) => batch.map(() => "saved"), isDataError: () => false },
    timers: { defer: setImmediate },
  });
  let rounds = 0;
  const count = setImmediate(function again() {
    rounds += 1;
    if (rounds < 1_000) setImmediate(again);
  });
  for (let step = 0; step < 20; step += 1) await save(progress("a"));
  clearImmediate(count);
  expect(rounds).toBeGreaterThanOrEqual(19);
});
