/**
 * Evaluates simple filters in this process. Most filters compare some values, which takes less time than a
 * message to a worker. Parsing and evaluating an expression can take unbounded time, so a filter
 * is evaluated here only after a worker has evaluated it, and has found that its evaluation takes a
 * bounded time per value of the event.
 */
import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { FilterResult } from "@signalbox/rules/match/filter.ts";
import type { JobRequest, RunJob } from "../../kernel/jobs/job.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import { once } from "../../kernel/lib/once.ts";

/** A result of a worker. */
export type MarkedResult = FilterResult & { isSimple?: true };

const MAX_KNOWN = 10_000;
/** The product of the size of an event and the characters of its filters. It takes some milliseconds at most. */
const MAX_WORK = 200_000;
/** So many characters of a text take as long as a value. */
const CHARACTERS_PER_VALUE = 16;

/** Loaded on first use, so that an idle hub uses less memory. */
const loadRunFilters = once(
  async () => (await import("@signalbox/rules/match/filter.ts")).runFilters,
);

export function withSimpleFilters(runJob: RunJob): RunJob {
  const simple = new BoundedMap<string, true>(MAX_KNOWN);
  return async (request, caller) => {
    if (!isFilters(request)) return runJob(request, caller);
    const { expressions, data } = request;
    const characters = expressions.reduce((sum, { length }) => sum + length, 0);
    if (
      expressions.every((expression) => simple.get(expression)) &&
      !isLarger(data as Json, MAX_WORK / characters)
    ) {
      const runFilters = await loadRunFilters();
      return { log: [], output: [...(await runFilters(expressions, data as Json))] };
    }
    const result = await runJob(request, caller);
    if ("output" in result && Array.isArray(result.output))
      for (const [index, marked] of (result.output as unknown as MarkedResult[]).entries())
        if (marked.isSimple) simple.set(expressions[index] as string, true);
    return result;
  };
}

type Filters = Extract<Evaluation, { job: "jsonata-filters" }>;

const isFilters = (request: JobRequest): request is Filters => request.job === "jsonata-filters";

/** Whether the values of the data, with their texts, exceed the limit. */
function isLarger(data: Json, limit: number): boolean {
  const pending: Json[] = [data];
  let size = 0;
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    size += typeof value === "string" ? 1 + value.length / CHARACTERS_PER_VALUE : 1;
    if (size + pending.length > limit) return true;
    if (typeof value === "object" && value !== null)
      for (const item of Object.values(value)) pending.push(item);
  }
  return false;
}
