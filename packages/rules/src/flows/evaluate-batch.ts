/**
 * Evaluates a batch of expressions in one message to the evaluator. If the batch exceeds a limit, each
 * expression is evaluated separately, so that only the slow ones fail.
 */
import type { Json } from "../json.ts";
import { parseIfLarge } from "../large-json.ts";
import type { Evaluation, EvaluationResult } from "./evaluation.ts";

export type ExpressionBatch = Extract<Evaluation, { expressions: readonly string[] }>;

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
  evaluate: (evaluation: Evaluation) => Promise<EvaluationResult>,
  batch: ExpressionBatch,
): Promise<(Result | Overrun | Skipped)[]> {
  const { expressions } = batch;
  const batchResult = await evaluate(batch);
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
    const result = await evaluate({ ...batch, expressions: [expression] });
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
