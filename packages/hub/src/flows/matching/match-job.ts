/**
 * Compares triggers with an event in a job: for large payloads, and for triggers whose comparison would block
 * the event loop.
 */
import type { SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import {
  type EvaluateFilters,
  type FilterResult,
  runFilters,
} from "@signalbox/rules/match/filter.ts";
import { laneKey } from "@signalbox/rules/match/lane-key.ts";
import {
  type MatchEvent,
  type MatchTrigger,
  matchTriggers,
  type Verdict,
} from "@signalbox/rules/match/match-trigger.ts";
import { type PayloadFormat, readPayload } from "../../events/sources/read-payload.ts";
import { type Job, type JobRequest, toResult } from "../../kernel/jobs/job.ts";
import type { RunIsolated } from "../sandbox/author-programs.ts";

/** The data is the body of the event's payload. */
export interface MatchBatch extends JobRequest {
  job: "match";
  /** Each one is the JSON of a `MatchRequest`. */
  expressions: readonly string[];
  payload: PayloadFormat;
  event: Omit<MatchEvent, "data">;
}

export interface MatchRequest {
  trigger: MatchTrigger;
  /** The paths whose values are keys of lanes. */
  keys: readonly string[];
}

export interface MatchResult {
  verdict: Verdict;
  /** The `laneKey` of each path. */
  keys: Record<string, string>;
}

export const createMatchJob = (runIsolated: RunIsolated | undefined): Job => ({
  name: "match",
  reads: "bytes",
  async run({ expressions, event, payload, data: body, timeoutMs }: MatchBatch & Body) {
    const data = readPayload(payload.source, { ...payload, body });
    // Together, the triggers have the time limit of the job.
    const filterMs = Math.ceil(timeoutMs / expressions.length);
    const evaluateFilters = runIsolated ? isolateFilters(runIsolated, filterMs) : runFilters;
    const results: MatchResult[] = [];
    try {
      for (const expression of expressions) {
        const { trigger, keys } = JSON.parse(expression) as MatchRequest;
        const [verdict] = await matchTriggers({ ...event, data }, [trigger], { evaluateFilters });
        results.push({
          verdict: verdict as Verdict,
          keys: Object.fromEntries(keys.map((key) => [key, laneKey(data, key)])),
        });
      }
    } catch (error) {
      if (error instanceof FilterLimitExceeded) return error.result;
      throw error;
    }
    return toResult(results);
  },
});

type Body = { data: Uint8Array };

const isolateFilters =
  (runIsolated: RunIsolated, timeoutMs: number): EvaluateFilters =>
  async (expressions, event) => {
    const program = { job: "jsonata-filters", expressions, timeoutMs } as const;
    const result = await runIsolated({ ...program, data: JSON.stringify(event) });
    if ("error" in result) throw new FilterLimitExceeded(result);
    return JSON.parse(result.output) as FilterResult[];
  };

class FilterLimitExceeded extends Error {
  readonly result: SerializedResult;
  constructor(result: SerializedResult) {
    super("A filter has exceeded a limit.");
    this.result = result;
  }
}
