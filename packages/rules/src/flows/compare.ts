/**
 * Compares values with the operators of conditions. Comparisons of large values, and those that could
 * be slow, run in the sandbox.
 */
import type { Json } from "../json.ts";
import { jsonBytes } from "../json-bytes.ts";
import { type MixedJson, parseIfLarge } from "../large-json.ts";
import { holds, type Operator } from "../match/operators.ts";
import { Permanent } from "./errors.ts";
import type { NodeContext } from "./node-type.ts";

/** Tests of one value. */
export interface Comparison {
  left: MixedJson;
  tests: readonly { op: Operator; right: MixedJson }[];
}

const TIMEOUT_MS = 2_000;

/** The worst case of this many steps, a long glob on many short texts, takes about 20 ms. */
const MAX_CHEAP = 1_000_000;

/** Returns the result of each test of each comparison. */
export async function compareAll(
  { evaluate }: Pick<NodeContext<never>, "evaluate">,
  comparisons: readonly Comparison[],
): Promise<boolean[][]> {
  if (isCheap(comparisons)) return runComparisons(comparisons as readonly ParsedComparison[]);
  const data = comparisons as readonly object[] as MixedJson;
  const result = await evaluate({ language: "comparisons", timeoutMs: TIMEOUT_MS, data });
  if ("output" in result) return parseIfLarge(result.output) as boolean[][];
  throw new Permanent(`The comparison ${result.message}. Compare a smaller value.`, {
    code: result.error === "code_timeout" ? "comparison_timeout" : "comparison_failed",
  });
}

type ParsedComparison = { left: Json; tests: { op: Operator; right: Json }[] };

/** Runs inside an evaluator, which enforces the deadline, or for cheap comparisons. */
export const runComparisons = (comparisons: readonly ParsedComparison[]): boolean[][] =>
  comparisons.map(({ left, tests }) => tests.map(({ op, right }) => holds(op, [left], right)));

/** The time of a test grows at most with the product of both sizes. */
function isCheap(comparisons: readonly Comparison[]): boolean {
  let work = 0;
  const sizeOf = (value: MixedJson) =>
    jsonBytes(value, MAX_CHEAP, () => {
      work = Number.POSITIVE_INFINITY;
    });
  for (const { left, tests } of comparisons) {
    const size = sizeOf(left);
    for (const { right } of tests) work += size * sizeOf(right);
    if (work > MAX_CHEAP) return false;
  }
  return true;
}
