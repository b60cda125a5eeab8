/**
 * Compares triggers with an event inside the sandbox. The hub uses this for large payloads, and for
 * triggers whose comparison would block the event loop.
 */
import type { Json } from "../json.ts";
import type { EvaluateFilters } from "./filter.ts";
import { laneKey } from "./lane-key.ts";
import {
  type MatchEvent,
  type MatchTrigger,
  matchTriggers,
  type Verdict,
} from "./match-trigger.ts";

/** The sandbox receives the JSON of a request as an expression of the language `match`. */
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

export async function runMatches(
  expressions: readonly string[],
  event: Omit<MatchEvent, "data">,
  data: Json,
  evaluateFilters: EvaluateFilters,
): Promise<MatchResult[]> {
  const results: MatchResult[] = [];
  for (const expression of expressions) {
    const { trigger, keys } = JSON.parse(expression) as MatchRequest;
    const [verdict] = await matchTriggers({ ...event, data }, [trigger], {
      evaluateFilters,
    });
    results.push({
      verdict: verdict as Verdict,
      keys: Object.fromEntries(keys.map((key) => [key, laneKey(data, key)])),
    });
  }
  return results;
}
