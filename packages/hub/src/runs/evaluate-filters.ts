import { evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import {
  type EvaluateFilters,
  FILTER_TIMEOUT_MS,
  type FilterResult,
} from "@signalbox/rules/match/filter.ts";

/** Filters have a deadline in the sandbox, so they need no abort signal. */
const NEVER_ABORTED = new AbortController().signal;

/** Evaluates all filters of one event together. */
export const evaluateFilters =
  (evaluate: Evaluate, tenant: string): EvaluateFilters =>
  (expressions, event) =>
    evaluateBatch<FilterResult>(
      (evaluation) => evaluate(evaluation, { tenant, signal: NEVER_ABORTED }),
      {
        language: "jsonata-filters",
        expressions,
        data: event,
        timeoutMs: FILTER_TIMEOUT_MS,
      },
    );
