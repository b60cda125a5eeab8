/** The filter of a trigger: a JSONata expression that must be true for the event. */
import type { Json } from "../json.ts";
import { compileExpression, evaluateExpression, isJsonataFunction } from "./expression.ts";
import { isSimpleExpression } from "./simple-expression.ts";

export const MAX_FILTER_LENGTH = 2000;
export const FILTER_TIMEOUT_MS = 1000;

export type FilterResult =
  | { holds: boolean }
  /** `isOverrun`: the filter exceeds its limits. */
  | { problem: string; isOverrun?: true };

/** Evaluates filters on one event, and returns the results in the same order. */
export type EvaluateFilters = (
  expressions: readonly string[],
  event: Json,
) => Promise<readonly FilterResult[]>;

/** Runs inside an evaluator, which enforces the deadline. */
export const runFilters = async (
  expressions: readonly string[],
  event: Json,
): Promise<readonly FilterResult[]> => {
  const results: FilterResult[] = [];
  for (const expression of expressions) {
    const result = await evaluateExpression(expression, event);
    results.push("problem" in result ? result : { holds: isTrue(result.value) });
  }
  return results;
};

/** Like JSONata's `$boolean`: an array is true if one of its items is true; a function is false. */
function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isTrue);
  if (typeof value !== "object" || value === null) return Boolean(value);
  return !isJsonataFunction(value) && Object.keys(value).length > 0;
}

const simplicity = new Map<string, boolean>();
const MAX_CACHED = 200;

/** Whether a filter may be evaluated without a deadline; see simple-expression.ts. Parsing it can take long. */
export function isSimpleFilter(expression: string): boolean {
  const cached = simplicity.get(expression);
  if (cached !== undefined) return cached;
  const ast = JSON.parse(JSON.stringify(compileExpression(expression).ast())) as Json;
  const isSimple = isSimpleExpression(ast);
  if (simplicity.size >= MAX_CACHED) simplicity.clear();
  simplicity.set(expression, isSimple);
  return isSimple;
}
