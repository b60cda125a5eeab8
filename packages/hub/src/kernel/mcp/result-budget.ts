/**
 * The byte budgets of tools that return lists: what fits into the context of a model. A budget limits the
 * whole result as the client receives it, with its text and its structured content. What does not fit is
 * on the next page. A page has at least one item, whatever its size.
 */
import { z } from "zod";
import { utf8 } from "../lib/bytes.ts";
import { largestFitting } from "../lib/largest-fitting.ts";
import { RequestError } from "../lib/request-error.ts";
import { type ToolResult, toCallToolResult } from "./tool.ts";

const DEFAULT_BYTES = 40_000;
const MIN_BYTES = 4_000;
const MAX_BYTES = 1_000_000;

/** The argument of all tools that return lists. */
export const max_bytes = z
  .int("must be an integer")
  .min(MIN_BYTES, `must be at least ${MIN_BYTES}`)
  .max(MAX_BYTES, `must be at most ${MAX_BYTES}`)
  .default(DEFAULT_BYTES)
  .describe("The maximum size of the result");

/** What the protocol adds to a result, such as `resultType`. */
const PROTOCOL_BYTES = 200;

export const resultBytes = (result: ToolResult): number =>
  utf8(JSON.stringify(toCallToolResult(result))).byteLength + PROTOCOL_BYTES;

/** Returns the result with as many of the first items as fit. `resultOf` gets at least one, if there is any. */
export function fitItems<Item>(
  items: readonly Item[],
  maxBytes: number,
  resultOf: (items: Item[]) => ToolResult,
): ToolResult {
  const count = largestFitting(
    items.length,
    (n) => resultBytes(resultOf(items.slice(0, n))) <= maxBytes,
  );
  return resultOf(items.slice(0, count));
}

/**
 * Returns the result with the largest limit with which it fits, or else with the smallest. The limits
 * are in descending order.
 */
export function shortenToFit(
  maxBytes: number,
  limits: readonly number[],
  resultWith: (limit: number) => ToolResult,
): ToolResult {
  const [limit = 0, ...smaller] = limits;
  const result = resultWith(limit);
  return smaller.length === 0 || resultBytes(result) <= maxBytes
    ? result
    : shortenToFit(maxBytes, smaller, resultWith);
}

/** Returns the items after the one that the cursor names. Throws if the list no longer has it. */
export function itemsAfter<Item>(
  items: readonly Item[],
  cursor: string | undefined,
  keyOf: (item: Item) => string,
): readonly Item[] {
  if (cursor === undefined) return items;
  const index = items.findIndex((item) => keyOf(item) === cursor);
  if (index === -1)
    throw new RequestError(
      "invalid",
      "cursor",
      "is not a cursor of this list, or the list has changed: start again without it",
    );
  return items.slice(index + 1);
}

/** Tells models that see only the text how to get the next page. */
export const nextPageNote = (next: string | null): string | undefined =>
  next === null
    ? undefined
    : `This is not the last page. For the next page, repeat the call with "cursor": ${JSON.stringify(next)}.`;
