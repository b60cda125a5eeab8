/** A JSONata expression that an event must satisfy. */
import type { Json } from "../json.ts";
import { type Allowance, isJsonataFunction } from "./budget.ts";
import { createExpressions } from "./expression.ts";

export const FILTER_LENGTH = 2000;

export type FilterResult = { holds: boolean } | { problem: string };

const filters = createExpressions({ length: FILTER_LENGTH, steps: 20_000, timeMs: 500 });

/** Undefined where the text is an expression that may be used. */
export const checkFilter = filters.check;

/** What the filters of all triggers that an event could start may take together. */
export const openAllowance = (): Allowance => ({
  steps: 100_000,
  ms: 500,
  words: "the filters of this event took too long together",
});

export async function evaluateFilter(
  text: string,
  event: Json,
  allowance?: Allowance,
): Promise<FilterResult> {
  const result = await filters.evaluate(text, event, allowance);
  return "problem" in result ? result : { holds: isTrue(result.value) };
}

/** As JSONata's own `$boolean`: an array holds where one of its items does, a function never. */
function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isTrue);
  if (typeof value !== "object" || value === null) return Boolean(value);
  return !isJsonataFunction(value) && Object.keys(value).length > 0;
}
