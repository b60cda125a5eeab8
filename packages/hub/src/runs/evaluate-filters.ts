/**
 * Evaluates the filters of events in the sandbox. A filter that exceeds its limits must not delay the
 * events behind it: such a filter is paused, and queued batches that contain it are evaluated without
 * it. The caller can match these events again after the pause.
 */
import { type ExpressionBatch, evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import {
  type EvaluateFilters,
  FILTER_TIMEOUT_MS,
  type FilterResult,
} from "@signalbox/rules/match/filter.ts";
import { BoundedMap } from "../lib/bounded-map.ts";

const PAUSE_MS = 10_000;
const MAX_PAUSED = 10_000;

/** A batch of expressions that waits for the sandbox or is being evaluated. */
interface PendingBatch {
  keys: readonly string[];
  controller: AbortController;
}

interface FilterState {
  /** For each tenant and expression, the end of its pause. */
  pausedUntil: BoundedMap<string, number>;
  pending: Set<PendingBatch>;
}

/** One state per sandbox: all callers with the same `evaluate` share it. */
const states = new WeakMap<Evaluate, FilterState>();

export interface FilterOptions {
  evaluate: Evaluate;
  now: () => number;
  /** The app of the triggers. Its filters wait for the sandbox in a queue of its own, each in its turn. */
  app?: string | undefined;
  /** The maximum time that a batch waits for the sandbox. */
  maxWaitMs?: number | undefined;
  /** Ends the evaluation. */
  signal?: AbortSignal | undefined;
  /** Called for each expression that was not evaluated because it is paused. */
  onPaused?: ((expression: string, until: number) => void) | undefined;
}

export const evaluateFilters =
  (options: FilterOptions, tenant: string): EvaluateFilters =>
  (expressions, data) =>
    evaluateUnlessPaused<FilterResult>(options, tenant, {
      language: "jsonata-filters",
      expressions,
      data,
      timeoutMs: FILTER_TIMEOUT_MS,
    });

/**
 * Returns one item per expression: its result, or a problem if it is paused or exceeds its limits.
 */
export async function evaluateUnlessPaused<Result extends object>(
  { evaluate, now, app = "", maxWaitMs, signal, onPaused = () => {} }: FilterOptions,
  tenant: string,
  batch: ExpressionBatch,
): Promise<(Result | { problem: string; isOverrun?: true })[]> {
  const { language, expressions } = batch;
  const state = states.get(evaluate) ?? {
    pausedUntil: new BoundedMap<string, number>(MAX_PAUSED),
    pending: new Set(),
  };
  states.set(evaluate, state);
  const keyOf = (expression: string) => JSON.stringify([tenant, language, expression]);
  const isPaused = (expression: string) =>
    (state.pausedUntil.get(keyOf(expression)) ?? Number.NEGATIVE_INFINITY) > now();

  for (;;) {
    const active = [...new Set(expressions)].filter((expression) => !isPaused(expression));
    const pending = { keys: active.map(keyOf), controller: new AbortController() };
    const onAbort = () => pending.controller.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", onAbort, { once: true });
    state.pending.add(pending);
    try {
      const results =
        active.length === 0
          ? []
          : await evaluateBatch<Result>(
              (evaluation) =>
                evaluate(evaluation, {
                  tenant,
                  lane: [app, active[0] as string],
                  signal: pending.controller.signal,
                  maxWaitMs,
                }),
              { ...batch, expressions: active },
            );
      state.pending.delete(pending);
      for (const [index, result] of results.entries())
        if ("isOverrun" in result) pause(state, pending.keys[index] as string, now() + PAUSE_MS);
      return expressions.map((expression) => {
        const result = results[active.indexOf(expression)];
        if (!result) {
          onPaused(expression, state.pausedUntil.get(keyOf(expression)) ?? now());
          return PAUSED;
        }
        // Others of the batch have exceeded their limits; they are paused now.
        if ("isSkipped" in result) onPaused(expression, now());
        if (!("problem" in result)) return result;
        const problem = String(result.problem);
        return "isOverrun" in result ? { problem, isOverrun: true } : { problem };
      });
    } catch (error) {
      // An expression of this batch was paused: evaluate the others.
      if (error !== PAUSED) throw error;
    } finally {
      state.pending.delete(pending);
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

/** The result of a paused expression, and the reason with which its pending batches are aborted. */
const PAUSED = {
  problem: `expression has exceeded its limits, and is not evaluated for ${PAUSE_MS / 1000} s`,
  isOverrun: true,
} as const;

function pause({ pausedUntil, pending }: FilterState, key: string, until: number): void {
  pausedUntil.set(key, until);
  for (const { keys, controller } of pending) if (keys.includes(key)) controller.abort(PAUSED);
}
