import { expect, test } from "vitest";
import { createRunBudget } from "./run-budget.ts";

test("returns an error with the size, the remaining bytes and the setting", () => {
  const budget = createRunBudget(5_000_000, 1_000_000);
  expect(budget.reserve(3_950_000, "output")).toBeUndefined();
  expect(budget.reserve(4_200_000, "output")).toEqual({
    code: "run_too_large",
    message:
      "The output of the step has 4.2 MB of JSON, but the run may store only 50 kB more: " +
      "its limit is 5 MB for all steps. Return less, or raise SIGNALBOX_RUN_BYTES.",
  });
  // A smaller value still fits.
  expect(budget.reserve(50_000, "input")).toBeUndefined();
  expect(budget.reserve(1, "input")?.message).toContain("Pass less");
});
