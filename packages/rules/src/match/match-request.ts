/** Compares triggers with an event in the sandbox, if its payload is large or comparing takes long. */
import type { Json } from "../json.ts";
import type { StepBudget } from "./expression.ts";
import { runFilters } from "./filter.ts";
import { laneKey } from "./lane-key.ts";
import {
  type MatchEvent,
  type MatchTrigger,
  matchTriggers,
  type Verdict,
} from "./match-trigger.ts";

/** The JSON of a request is an expression of the language `match`. */
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
  budget?: StepBudget,
): Promise<MatchResult[]> {
  const results: MatchResult[] = [];
  for (const expression of expressions) {
    const { trigger, keys } = JSON.parse(expression) as MatchRequest;
    const [verdict] = await matchTriggers({ ...event, data }, [trigger], {
      evaluateFilters: (filters, event) => runFilters(filters, event, budget),
    });
    results.push({
      verdict: verdict as Verdict,
      keys: Object.fromEntries(keys.map((key) => [key, laneKey(data, key)])),
    });
  }
  return results;
}
