import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { createEvaluateInProcess } from "./evaluate-in-process.ts";

const evaluateInProcess = createEvaluateInProcess({
  get engine(): never {
    throw new Error("JavaScript was not expected in this test");
  },
});

/** Evaluates in this process, for tests without QuickJS. Syntax checks accept any code. */
export const testEvaluate: Evaluate = async (evaluation, caller) =>
  evaluation.language === "javascript-syntax"
    ? { log: [], output: evaluation.expressions.map(() => ({})) }
    : evaluateInProcess(evaluation, caller);
