import { expect, it } from "vitest";
import { isPreview, OMITTED } from "./preview.ts";
import {
  findStep,
  MAX_STEPS_WITH_VALUES,
  mergeSteps,
  type RunPage,
  withChanges,
  withMoreSteps,
  withPage,
} from "./run-data.ts";
import { step } from "./test-step.ts";

const page = (fields: Partial<RunPage> = {}): RunPage =>
  ({ id: "r", status: "running", steps: [step(1, "a")], next_cursor: null, ...fields }) as RunPage;
const numbers = (steps: readonly { nth: number }[]) => steps.map(({ nth }) => nth);

it("adds pages and changes in the order of the step numbers", () => {
  let data = withPage(undefined, page({ next_cursor: "step:1" }));
  data = withMoreSteps(data, { items: [step(4, "d"), step(7, "e")], next_cursor: null });
  data = withChanges(data, [{ steps: [step(5, "f")] }, { status: "succeeded", steps: [] }]);
  expect(numbers(data.steps)).toEqual([1, 4, 5, 7]);
  expect(data).toMatchObject({ run: { status: "succeeded" }, next: null });
  expect(data.run).not.toHaveProperty("steps");
});

it("keeps later pages when the first page is loaded again, and discards them for another run", () => {
  const first = withPage(undefined, page({ next_cursor: "step:1" }));
  const more = withMoreSteps(first, { items: [step(2, "b")], next_cursor: "step:2" });
  const again = withPage(more, page({ status: "failed", next_cursor: "step:1" }));
  expect([numbers(again.steps), again.next, again.run.status]).toEqual([
    [1, 2],
    "step:2",
    "failed",
  ]);
  expect(numbers(withPage(again, page({ id: "s", steps: [] })).steps)).toEqual([]);
});

it("removes the skipped steps of a run that is retried", () => {
  const steps = [step(1, "a", { status: "retried" }), step(2, "b", { status: "skipped" })];
  const failed = withPage(undefined, page({ status: "failed", steps }));
  expect(numbers(withChanges(failed, [{ status: "failed" }]).steps)).toEqual([1, 2]);
  expect(numbers(withChanges(failed, [{ status: "queued" }]).steps)).toEqual([1]);
  expect(numbers(withPage(failed, page({ steps: [] })).steps)).toEqual([1]);
});

it("replaces open steps, but never replaces an ended step by an open one", () => {
  const open = step(1, "a", { to: null });
  const done = step(1, "a", { to: 5 });
  expect(mergeSteps([open], [done])).toEqual([done]);
  expect(mergeSteps([done], [open])).toEqual([done]);
  const same = [done];
  expect(mergeSteps(same, [])).toBe(same);
});

it("keeps all values of the first steps, and only small values of later steps", () => {
  const steps = Array.from({ length: MAX_STEPS_WITH_VALUES + 2 }, (_, at) =>
    step(at + 1, "a", { input: { at }, output: at === MAX_STEPS_WITH_VALUES ? "short" : { at } }),
  );
  const merged = mergeSteps([], steps);
  expect(merged[MAX_STEPS_WITH_VALUES - 1]?.input).toEqual({ at: MAX_STEPS_WITH_VALUES - 1 });
  expect(merged[MAX_STEPS_WITH_VALUES]).toMatchObject({ input: OMITTED, output: "short" });
  expect(merged[MAX_STEPS_WITH_VALUES + 1]?.output).toBe(OMITTED);
  const preview = { $preview: "[1, 2", bytes: 300_000 };
  const withLarge = mergeSteps(merged, [step(MAX_STEPS_WITH_VALUES + 8, "a", { output: preview })]);
  expect(withLarge.at(-1)?.output).toEqual({ $preview: "", bytes: 300_000 });
  const retried = step(MAX_STEPS_WITH_VALUES + 9, "a", {
    status: "failed",
    output: { retry_at: 1 },
  });
  const withRetried = mergeSteps(withLarge, [retried]);
  expect(withRetried.at(-1)?.output).toEqual({ retry_at: 1 });
  expect(withRetried.at(-2)).toBe(withLarge.at(-1));
});

it("returns the index of the step with a number, or -1", () => {
  const steps = [step(2, "a"), step(5, "b"), step(9, "c")];
  expect([1, 2, 5, 6, 9, 10].map((nth) => findStep(steps, nth))).toEqual([-1, 0, 1, -1, 2, -1]);
});

it("recognizes previews by their two fields", () => {
  expect(isPreview({ $preview: "[1,", bytes: 20_000 })).toBe(true);
  for (const value of [null, "x", { $preview: "x" }, { $preview: "", bytes: 1, more: 1 }])
    expect(isPreview(value)).toBe(false);
});
