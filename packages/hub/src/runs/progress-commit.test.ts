import { expect, test } from "vitest";
import type { RunProgress } from "../store/run-store.ts";
import { CannotBeSaved, createProgressCommit } from "./progress-commit.ts";

const progress = (run: string): RunProgress => ({ run, claim: 1, steps: [], now: 0 });

/** A store whose writes end when the test lets them. */
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
  return { batches, save: createProgressCommit({ store, soon: setImmediate }) };
}
/** Two of them: one in which the writing begins, one to be sure. */
const turn = async () => {
  for (let at = 0; at < 2; at += 1) await new Promise((resolve) => setImmediate(resolve));
};

test("what comes in one turn is written together, what comes meanwhile afterwards, in order", async () => {
  const { batches, save } = slowStore();
  const first = [save(progress("a")), save(progress("b"))];
  await turn();
  const second = [save(progress("c")), save(progress("a"))];
  await turn();
  expect(batches.map(({ runs }) => runs)).toEqual([["a", "b"]]);
  batches[0]?.end.resolve(["saved", "lost"]);
  expect(await Promise.all(first)).toEqual(["saved", "lost"]);
  await turn();
  expect(batches.map(({ runs }) => runs)).toEqual([
    ["a", "b"],
    ["c", "a"],
  ]);
  batches[1]?.end.resolve(["saved", "saved"]);
  expect(await Promise.all(second)).toEqual(["saved", "saved"]);
});

test("nobody waits for longer than it takes: one alone is written at once", async () => {
  const { batches, save } = slowStore();
  for (const run of ["a", "b", "c"]) {
    const saved = save(progress(run));
    await turn();
    batches.at(-1)?.end.resolve(["saved"]);
    await saved;
  }
  expect(batches.map(({ runs }) => runs)).toEqual([["a"], ["b"], ["c"]]);
});

test("a batch is not endless", async () => {
  const { batches, save } = slowStore();
  for (let at = 0; at < 250; at += 1) void save(progress(String(at)));
  await turn();
  expect(batches[0]?.runs.length).toBe(200);
  batches[0]?.end.resolve([]);
  await turn();
  expect(batches[1]?.runs.length).toBe(50);
});

test("trouble is told to all of its batch, and to nobody after it", async () => {
  const { batches, save } = slowStore();
  const first = Promise.allSettled(["a", "b", "c"].map((run) => save(progress(run))));
  await turn();
  const second = save(progress("d"));
  for (let at = 0; at < 3; at += 1) {
    batches[at]?.end.reject(new Error("disk full"));
    await turn();
  }
  expect((await first).map((one) => (one as PromiseRejectedResult).reason.message)).toEqual([
    "disk full",
    "disk full",
    "disk full",
  ]);
  // Two that fail alone are enough to know that it is not for what they hold.
  expect(batches.map(({ runs }) => runs.join())).toEqual(["a,b,c", "a", "b", "d"]);
  batches[3]?.end.resolve(["saved"]);
  expect(await second).toBe("saved");
});

const poisoned: [string, Error, Partial<RunProgress>][] = [
  ["the store refuses", new SyntaxError("null byte"), {}],
  ["is too long", new RangeError("Invalid string length"), {}],
  [
    "is no JSON",
    new TypeError("cyclic"),
    { next: { status: "succeeded", output: 1n as unknown as null } },
  ],
];
test.each(poisoned)("what %s does not take its neighbours with it", async (_, error, what) => {
  const save = createProgressCommit({
    store: {
      saveProgress: async (batch) => {
        if (batch.some(({ run }) => run === "bad")) throw error;
        return batch.map(({ run }) => (run === "lost" ? "lost" : "saved"));
      },
      isDataError: (error) => error instanceof SyntaxError,
    },
    soon: setImmediate,
  });
  const bad = save({ ...progress("bad"), ...what });
  const others = Promise.all([save(progress("a")), save(progress("lost"))]);
  await expect(bad).rejects.toThrow(CannotBeSaved);
  await expect(bad).rejects.toThrow(error.message);
  expect(await others).toEqual(["saved", "lost"]);
});

test("one that fails alone for another reason may be tried again", async () => {
  const error = new TypeError("socket is undefined");
  const save = createProgressCommit({
    store: { saveProgress: () => Promise.reject(error), isDataError: () => false },
    soon: setImmediate,
  });
  await expect(save(progress("a"))).rejects.toBe(error);
});

test("on a store that answers at once, everybody else still gets a turn", async () => {
  const save = createProgressCommit({
    store: { saveProgress: async (batch) => batch.map(() => "saved"), isDataError: () => false },
    soon: setImmediate,
  });
  let turns = 0;
  const count = setImmediate(function again() {
    turns += 1;
    if (turns < 1_000) setImmediate(again);
  });
  for (let step = 0; step < 20; step += 1) await save(progress("a"));
  clearImmediate(count);
  expect(turns).toBeGreaterThanOrEqual(19);
});
