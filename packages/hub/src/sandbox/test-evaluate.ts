import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { createEvaluateInProcess } from "./evaluate-in-process.ts";

/** For tests: evaluates expressions in this process, without processes and without QuickJS. */
export const testEvaluate: Evaluate = createEvaluateInProcess({
  get engine(): never {
    throw new Error("JavaScript was not expected in this test");
  },
});
