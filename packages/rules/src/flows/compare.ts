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

/** A value, and the tests to apply to it. */
export interface Comparison {
  left: MixedJson;
  tests: readonly { op: Operator; right: MixedJson }[];
}

const TIMEOUT_MS = 2_000;

/** The worst case within this limit, a long glob on many short texts, takes about 20 ms. */
const MAX_CHEAP_WORK = 1_000_000;

/** Returns the result of each test of each comparison. */
export async function compareAll(
  { evaluate }: Pick<NodeContext<never>, "evaluate">,
  comparisons: readonly Comparison[],
): Promise<boolean[][]> {
  if (isCheap(comparisons)) return runComparisons(comparisons as readonly ParsedComparison[]);
  const data = comparisons as readonly object[] as MixedJson;
  const result = await evaluate({ job: "comparisons", timeoutMs: TIMEOUT_MS, data });
  if ("output" in result) return parseIfLarge(result.output) as boolean[][];
  throw new Permanent(`The comparison ${result.message}. Compare a smaller value.`, {
    code: result.error === "code_timeout" ? "comparison_timeout" : "comparison_failed",
  });
}

type ParsedComparison = { left: Json; tests: { op: Operator; right: Json }[] };

/** Can take long: it runs in the sandbox, which enforces a deadline, unless `isCheap` returns true. */
export const runComparisons = (comparisons: readonly ParsedComparison[]): boolean[][] =>
  comparisons.map(({ left, tests }) => tests.map(({ op, right }) => holds(op, [left], right)));

/** Estimates the time of each test by the product of both sizes: the time never grows faster. */
function isCheap(comparisons: readonly Comparison[]): boolean {
  let work = 0;
  const sizeOf = (value: MixedJson) =>
    jsonBytes(value, MAX_CHEAP_WORK, () => {
      work = Number.POSITIVE_INFINITY;
    });
  for (const { left, tests } of comparisons) {
    const size = sizeOf(left);
    for (const { right } of tests) work += size * sizeOf(right);
    if (work > MAX_CHEAP_WORK) return false;
  }
  return true;
}
