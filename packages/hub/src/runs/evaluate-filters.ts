import { evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import {
  type EvaluateFilters,
  FILTER_TIMEOUT_MS,
  type FilterResult,
} from "@signalbox/rules/match/filter.ts";

/** The sandbox ends every evaluation; closing it rejects those in progress. */
const NEVER_ABORTED = new AbortController().signal;

/** The filters of one event are one evaluation. */
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
