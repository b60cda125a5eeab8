/**
 * Evaluates the filters of events in jobs. A filter that exceeds its limits must not delay the
 * events behind it: such a filter is paused, and queued batches that contain it are evaluated without
 * it. The caller can match these events again after the pause.
 */
import { evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import {
  type EvaluateFilters,
  FILTER_TIMEOUT_MS,
  type FilterResult,
} from "@signalbox/rules/match/filter.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { MatchBatch } from "./match-job.ts";

const PAUSE_MS = 10_000;
const MAX_PAUSED = 10_000;
/** With `decidesPaused`, a paused expression is evaluated with this share of its time limit. */
const BRIEF_SHARE = 0.1;
/**
 * The time that brief evaluations of an expression may take in a burst, and the share of one worker that they
 * may take for long. Only those that exceed the brief limit count. So some hostile payloads do not prevent the
 * evaluation of other events, and an expression that always exceeds its limits takes a bounded time.
 */
const BRIEF_BURST_MS = 10_000;
const BRIEF_RATE = 0.1;

/** A batch of expressions that waits for a worker or is being evaluated. */
interface PendingBatch {
  keys: readonly string[];
  controller: AbortController;
}

interface FilterState {
  /** For each tenant and expression, the end of its pause. */
  pausedUntil: BoundedMap<string, number>;
  /** For each of them, when the rate of brief evaluations will have made up for those so far. */
  briefUntil: BoundedMap<string, number>;
  pending: Set<PendingBatch>;
}

/** All callers with the same `runJob` share one state. */
const states = new WeakMap<RunJob, FilterState>();

export interface FilterOptions {
  runJob: RunJob;
  now: () => number;
  /** The app of the triggers. Its filters wait for a worker in a queue of its own, each in its turn. */
  app?: string | undefined;
  /** The maximum time that a batch waits for a worker. */
  maxWaitMs?: number | undefined;
  /** Ends the evaluation. */
  signal?: AbortSignal | undefined;
  /** Whether paused expressions are evaluated briefly. */
  decidesPaused?: boolean | undefined;
  /** Called for each expression that was not evaluated because it is paused. */
  onPaused?: ((expression: string, until: number) => void) | undefined;
}

export const evaluateFilters =
  (options: FilterOptions, tenant: string): EvaluateFilters =>
  (expressions, data) =>
    evaluateUnlessPaused<FilterResult>(options, tenant, {
      job: "jsonata-filters",
      expressions,
      data,
      timeoutMs: FILTER_TIMEOUT_MS,
    });

type ExpressionBatch = Extract<Evaluation, { job: "jsonata-filters" }> | MatchBatch;

/**
 * Returns one item per expression: its result, or a problem if it is paused or exceeds its limits.
 */
export async function evaluateUnlessPaused<Result extends object>(
  options: FilterOptions,
  tenant: string,
  batch: ExpressionBatch,
): Promise<(Result | { problem: string; isOverrun?: true })[]> {
  const { runJob, now, app = "", maxWaitMs, signal, decidesPaused } = options;
  const { onPaused = () => {} } = options;
  const { job, expressions } = batch;
  const state = states.get(runJob) ?? {
    pausedUntil: new BoundedMap<string, number>(MAX_PAUSED),
    briefUntil: new BoundedMap<string, number>(MAX_PAUSED),
    pending: new Set(),
  };
  states.set(runJob, state);
  const keyOf = (expression: string) => JSON.stringify([tenant, job, expression]);
  const isPaused = (expression: string) =>
    (state.pausedUntil.get(keyOf(expression)) ?? Number.NEGATIVE_INFINITY) > now();
  const evaluateNow = (active: readonly string[], timeoutMs: number, signal: AbortSignal) =>
    evaluateBatch<Result>(
      (expressions) =>
        runJob(
          { ...batch, expressions, timeoutMs },
          { tenant, lane: [app, active[0] as string], signal, maxWaitMs },
        ),
      active,
    );
  /** Undefined if earlier brief evaluations have used up their time. */
  const evaluateBriefly = async (expression: string) => {
    const key = keyOf(expression);
    const timeoutMs = batch.timeoutMs * BRIEF_SHARE;
    const used = () => Math.max(state.briefUntil.get(key) ?? 0, now());
    if ((used() - now()) * BRIEF_RATE + timeoutMs > BRIEF_BURST_MS) return undefined;
    const [result] = await evaluateNow([expression], timeoutMs, signal ?? NEVER);
    if (result && "isOverrun" in result) state.briefUntil.set(key, used() + timeoutMs / BRIEF_RATE);
    return result;
  };

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
          : await evaluateNow(active, batch.timeoutMs, pending.controller.signal);
      state.pending.delete(pending);
      for (const [index, result] of results.entries())
        if ("isOverrun" in result) pause(state, pending.keys[index] as string, now() + PAUSE_MS);
      const evaluated = new Map(active.map((expression, index) => [expression, results[index]]));
      if (decidesPaused)
        for (const expression of new Set(expressions)) {
          const result = evaluated.get(expression);
          if (!result || "isSkipped" in result)
            evaluated.set(expression, await evaluateBriefly(expression));
        }
      return expressions.map((expression) => {
        const result = evaluated.get(expression);
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

const NEVER = new AbortController().signal;

/** The result of a paused expression, and the reason with which its pending batches are aborted. */
const PAUSED = {
  problem: `expression has exceeded its limits, and is not evaluated for ${PAUSE_MS / 1000} s`,
  isOverrun: true,
} as const;

function pause({ pausedUntil, pending }: FilterState, key: string, until: number): void {
  pausedUntil.set(key, until);
  for (const { keys, controller } of pending) if (keys.includes(key)) controller.abort(PAUSED);
}
