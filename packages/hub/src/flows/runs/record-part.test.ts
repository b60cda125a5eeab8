import type { Json } from "@signalbox/rules/json.ts";
import { expect, test } from "vitest";
import { createMask } from "../../kernel/lib/mask.ts";
import type { Execution, FrameContext } from "./execution.ts";
import type { Step, StepRef } from "./model.ts";
import { createParts } from "./record-part.ts";
import { ExecutionAborted, RunFailed, type StepRecord } from "./step-records.ts";
import { createRunBudget } from "./step-values.ts";

/** Creates the parts of a node `a` in the iteration `each:0`, with a step log in memory. */
function open({
  recorded = [] as Partial<Step>[],
  failStatus = "",
  error = new RunFailed({ code: "no_space", message: "full" }) as Error,
} = {}) {
  const written: StepRecord[] = [];
  const runController = new AbortController();
  const attemptController = new AbortController();
  const execution = {
    timers: { now: () => 5 },
    budget: createRunBudget(Infinity, 0),
    loadOutput: async ({ item, attempt }: StepRef) => `the output of ${item} ${attempt}`,
    stepLog: {
      recordsAtClaim: (item: string) => recorded.filter((step) => step.item === item),
      async write(steps: readonly StepRecord[]) {
        for (const step of steps) {
          if (step.status === failStatus) throw error;
          written.push(step);
        }
      },
    },
  } as unknown as Execution;
  const context = { frame: { iteration: "each:0" }, signal: runController.signal } as FrameContext;
  const parts = createParts(execution, context, "a");
  return {
    parts,
    runController,
    attemptController,
    records: () => written.map(({ item, attempt, status }) => `${item} ${attempt} ${status}`),
    record: (part: string, work: () => Promise<Json>, input: Json = null) =>
      parts.record({ part, input, work, mask: createMask([]), signal: attemptController.signal }),
  };
}

test("loads the output of a recorded part if it is large", async () => {
  const { record } = open({
    recorded: [{ item: "each:0#one", status: "done", attempt: 3, output: null, omitted: true }],
  });
  expect(await record("one", async () => "again")).toBe("the output of each:0#one 3");
});

test("does not repeat a recorded part, whatever its attempt was", async () => {
  const { record, records } = open({
    recorded: [
      { item: "each:0#one", status: "retried", attempt: 1, output: null },
      { item: "each:0#one", status: "done", attempt: 2, output: "first" },
    ],
  });
  expect(await record("one", async () => "second")).toBe("first");
  expect(await record("two", async () => "second")).toBe("second");
  expect(await record("two", async () => "third")).toBe("second");
  expect(await record("three", async () => undefined as never)).toBeNull();
  expect(records().slice(0, 2)).toEqual(["each:0#two 1 running", "each:0#two 1 done"]);
});

test("repeats an interrupted part with the same attempt number, and a failed part with the next", async () => {
  const { record, records } = open({
    recorded: [
      { item: "each:0#one", status: "running", attempt: 1 },
      { item: "each:0#two", status: "failed", attempt: 1 },
    ],
  });
  await record("one", async () => 1);
  await record("two", async () => 2);
  expect(records()).toEqual([
    "each:0#one 1 running",
    "each:0#one 1 done",
    "each:0#two 2 running",
    "each:0#two 2 done",
  ]);
});

test("rejects with the error of a failed part, which can be repeated in the same attempt", async () => {
  const { record, records } = open();
  const error = new Error("no luck");
  await expect(record("one", () => Promise.reject(error))).rejects.toBe(error);
  expect(await record("one", async () => 1)).toBe(1);
  expect(records()).toEqual([
    "each:0#one 1 running",
    "each:0#one 1 failed",
    "each:0#one 2 running",
    "each:0#one 2 done",
  ]);
});

test("runs different parts in parallel, but not the same part twice", async () => {
  const { record } = open();
  const gate = Promise.withResolvers<Json>();
  const one = record("one", () => gate.promise);
  const two = record("two", () => gate.promise);
  await expect(record("one", async () => 2)).rejects.toThrow(
    "The part one of this step is already running.",
  );
  gate.resolve(1);
  expect(await Promise.all([one, two])).toEqual([1, 1]);
});

test("does not start a part whose start cannot be recorded", async () => {
  const { record, parts } = open({ failStatus: "running" });
  let calls = 0;
  const work = async () => ++calls;
  await expect(record("one", work)).rejects.toBeInstanceOf(RunFailed);
  expect(calls).toBe(0);
  expect(parts.endAttempt(undefined)).toMatchObject([{ item: "each:0#one", status: "failed" }]);
});

test("fails the step without a retry if the output of a part cannot be recorded", async () => {
  const { record, records } = open({ failStatus: "done" });
  await expect(record("one", async () => 1)).rejects.toBeInstanceOf(RunFailed);
  expect(records()).toEqual(["each:0#one 1 running", "each:0#one 1 failed"]);
  const { record: recordOther } = open();
  await expect(
    recordOther("two", async () => undefined as never, 10n as never),
  ).rejects.toMatchObject({
    error: { code: "input_not_json" },
  });
});

test("does not record a successful part as failed if the store fails", async () => {
  const { record, records } = open({ failStatus: "done", error: new Error("database is locked") });
  await expect(record("one", async () => 1)).rejects.toBeInstanceOf(ExecutionAborted);
  expect(records()).toEqual(["each:0#one 1 running"]);
});

test("ignores a part that ends after its attempt", async () => {
  const { record, records, parts, attemptController } = open();
  const gate = Promise.withResolvers<Json>();
  const late = record("one", () => gate.promise);
  await expect.poll(records).toHaveLength(1);
  const timeout = { code: "timeout", message: "took too long" };
  expect(parts.endAttempt(timeout)).toMatchObject([
    { item: "each:0#one", attempt: 1, status: "failed", error: timeout },
  ]);
  gate.resolve("late");
  await expect(late).rejects.toThrow("The attempt at this step has ended.");
  expect(await record("one", async () => "again")).toBe("again");
  expect(records()).toEqual(["each:0#one 1 running", "each:0#one 2 running", "each:0#one 2 done"]);
  attemptController.abort(new Error("over"));
  await expect(record("two", async () => 2)).rejects.toThrow("over");
  expect(await record("one", async () => "never")).toBe("again");
});

test("does not record a part after another worker has continued the run", async () => {
  const { record, records, runController } = open();
  const gate = Promise.withResolvers<Json>();
  const part = record("one", () => gate.promise);
  await expect.poll(records).toHaveLength(1);
  runController.abort();
  gate.reject(new Error("aborted"));
  await expect(part).rejects.toBeInstanceOf(ExecutionAborted);
  expect(records()).toEqual(["each:0#one 1 running"]);
});

test.each(["", "a b", "a#b", "a/b"])("rejects the invalid part name %j", async (name) => {
  await expect(open().record(name, async () => 1)).rejects.toThrow("Invalid name of a part");
});
