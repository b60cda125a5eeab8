import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { createEvaluateInPlace } from "./evaluate-in-place.ts";

/** For tests: evaluates expressions in place, without processes and without QuickJS. */
export const testEvaluate: Evaluate = createEvaluateInPlace({
  get engine(): never {
    throw new Error("JavaScript was not expected in this test");
  },
});
