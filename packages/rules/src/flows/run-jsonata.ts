import type { Json } from "../json.ts";
import { isJsonataFunction } from "../match/budget.ts";
import { createExpressions, type Expressions } from "../match/expression.ts";
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

/** So little that nobody notices: about what a filter takes. */
const briefly = createExpressions({ length: 2_000, steps: 1_000, timeMs: 5 });
const BRIEF_DATA = 64_000;

export const checkExpression = expressions.check;

/**
 * In a thread that others wait for, which is quicker than to ask another one. Undefined where it
 * could take longer, or fails: then somebody with more time has to tell.
 */
export async function runJsonataBriefly(
  evaluation: SpelledEvaluation,
): Promise<SpelledEvaluated | undefined> {
  if (evaluation.language !== "jsonata" || evaluation.data.length > BRIEF_DATA) return undefined;
  const evaluated = await evaluate(briefly, evaluation);
  return "fault" in evaluated ? undefined : evaluated;
}

export const runJsonata = (evaluation: SpelledEvaluation): Promise<SpelledEvaluated> =>
  evaluate(expressions, evaluation);

async function evaluate(
  { evaluate: run }: Expressions,
  { code, data }: SpelledEvaluation,
): Promise<SpelledEvaluated> {
  const failed = (message: string): SpelledEvaluated => ({
    log: [],
    fault: "code_failed",
    message,
  });
  const result = await run(code, JSON.parse(data) as Json);
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
