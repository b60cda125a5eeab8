import type { Json } from "../lib/json.ts";
import { createExpressions, isJsonataFunction } from "../match/expression.ts";
import {
  MOST_OUTPUT,
  type SpelledEvaluated,
  type SpelledEvaluation,
  tooLarge,
} from "./evaluation.ts";

export const EXPRESSION_LENGTH = 20_000;

/** More than a filter may take, since only its own run waits for it. */
const expressions = createExpressions({
  length: EXPRESSION_LENGTH,
  steps: 100_000,
  timeMs: 1000,
});

export const checkExpression = expressions.check;

export async function runJsonata({ code, data }: SpelledEvaluation): Promise<SpelledEvaluated> {
  const failed = (message: string): SpelledEvaluated => ({
    log: [],
    fault: "code_failed",
    message,
  });
  const result = await expressions.evaluate(code, JSON.parse(data) as Json);
  if ("problem" in result) return failed(result.problem);
  try {
    // What selects nothing gives null.
    const output = JSON.stringify(result.value ?? null, (_, value: unknown) => {
      if (typeof value === "object" && value !== null && isJsonataFunction(value))
        throw new Error("gives a function, which is no JSON");
      return value;
    });
    return output.length > MOST_OUTPUT ? { log: [], ...tooLarge } : { log: [], output };
  } catch (error) {
    return failed((error as Error).message);
  }
}
