/**
 * Evaluates a batch of expressions in one message to the evaluator. If the batch exceeds a limit, each
 * expression is evaluated separately, so that only the slow ones fail.
 */
import type { Json } from "../json.ts";
import { parseIfLarge } from "../large-json.ts";
import type { EvaluationResult } from "./evaluation.ts";

interface Overrun {
  problem: string;
  /** The expression exceeded a limit. */
  isOverrun: true;
}

interface Skipped {
  problem: string;
  /** The expression was not evaluated, because others of the batch exceeded their limits. */
  isSkipped: true;
}

/** Limits the time of one batch: after this many overruns, the other expressions are skipped. */
const MAX_OVERRUNS = 4;

export async function evaluateBatch<Result>(
  evaluate: (expressions: readonly string[]) => Promise<EvaluationResult>,
  expressions: readonly string[],
): Promise<(Result | Overrun | Skipped)[]> {
  const batchResult = await evaluate(expressions);
  if ("output" in batchResult) return parseIfLarge(batchResult.output) as Json[] as Result[];
  if (expressions.length === 1) return [toOverrun(batchResult.message)];
  const results: (Result | Overrun | Skipped)[] = [];
  let overruns = 0;
  for (const expression of expressions) {
    if (overruns === MAX_OVERRUNS) {
      results.push({
        problem: `expression is not evaluated: ${overruns} others exceed their limits`,
        isSkipped: true,
      });
      continue;
    }
    const result = await evaluate([expression]);
    if ("output" in result) results.push((parseIfLarge(result.output) as Json[])[0] as Result);
    else {
      overruns += 1;
      results.push(toOverrun(result.message));
    }
  }
  return results;
}

const toOverrun = (message: string): Overrun => ({
  problem: `expression ${message}`,
  isOverrun: true,
});
