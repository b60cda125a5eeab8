import { expect, it } from "vitest";
import { isPreview, NOT_KEPT } from "./preview.ts";
import {
  findStep,
  MAX_KEPT,
  mergeInto,
  type RunPage,
  withChanges,
  withMoreSteps,
  withPage,
} from "./run-data.ts";
import { step } from "./test-step.ts";

const page = (given: Partial<RunPage> = {}): RunPage =>
  ({ id: "r", status: "running", steps: [step(1, "a")], next_cursor: null, ...given }) as RunPage;
const numbers = (steps: readonly { nth: number }[]) => steps.map(({ nth }) => nth);

it("adds pages and changes in the order of the numbers", () => {
  let data = withPage(undefined, page({ next_cursor: "step:1" }));
  data = withMoreSteps(data, { items: [step(4, "d"), step(7, "e")], next_cursor: null });
  data = withChanges(data, [{ steps: [step(5, "f")] }, { status: "succeeded", steps: [] }]);
  expect(numbers(data.steps)).toEqual([1, 4, 5, 7]);
  expect(data).toMatchObject({ run: { status: "succeeded" }, next: null });
  expect(data.run).not.toHaveProperty("steps");
});

it("keeps later pages when the run is read again, and starts anew for another run", () => {
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

it("forgets the skipped steps of a run that is retried", () => {
  const steps = [step(1, "a", { status: "retried" }), step(2, "b", { status: "skipped" })];
  const failed = withPage(undefined, page({ status: "failed", steps }));
  expect(numbers(withChanges(failed, [{ status: "failed" }]).steps)).toEqual([1, 2]);
  expect(numbers(withChanges(failed, [{ status: "queued" }]).steps)).toEqual([1]);
  expect(numbers(withPage(failed, page({ steps: [] })).steps)).toEqual([1]);
});

it("replaces open steps, but never by an older state", () => {
  const open = step(1, "a", { to: null });
  const done = step(1, "a", { to: 5 });
  expect(mergeInto([open], [done])).toEqual([done]);
  expect(mergeInto([done], [open])).toEqual([done]);
  const same = [done];
  expect(mergeInto(same, [])).toBe(same);
});

it("keeps the values of the first steps only, and those that are small", () => {
  const steps = Array.from({ length: MAX_KEPT + 2 }, (_, at) =>
    step(at + 1, "a", { input: { at }, output: at === MAX_KEPT ? "short" : { at } }),
  );
  const merged = mergeInto([], steps);
  expect(merged[MAX_KEPT - 1]?.input).toEqual({ at: MAX_KEPT - 1 });
  expect(merged[MAX_KEPT]).toMatchObject({ input: NOT_KEPT, output: "short" });
  expect(merged[MAX_KEPT + 1]?.output).toBe(NOT_KEPT);
  const retried = step(MAX_KEPT + 9, "a", { status: "failed", output: { retry_at: 1 } });
  expect(mergeInto(merged, [retried]).at(-1)?.output).toEqual({ retry_at: 1 });
});

it("finds steps by number", () => {
  const steps = [step(2, "a"), step(5, "b"), step(9, "c")];
  expect([1, 2, 5, 6, 9, 10].map((nth) => findStep(steps, nth))).toEqual([-1, 0, 1, -1, 2, -1]);
});

it("knows previews", () => {
  expect(isPreview({ $preview: "[1,", bytes: 20_000 })).toBe(true);
  for (const value of [null, "x", { $preview: "x" }, { $preview: "", bytes: 1, more: 1 }])
    expect(isPreview(value)).toBe(false);
});
