import type { Json } from "@signalbox/rules/json.ts";
import { jsonBytes, textBytes } from "@signalbox/rules/json-bytes.ts";
import type { Mask } from "../lib/mask.ts";
import type { RunError } from "../store/run-store.ts";
import type { RunBudget } from "./run-budget.ts";

export const MAX_VALUE_MB = 16;
export const MAX_VALUE_BYTES = MAX_VALUE_MB * 1_000_000;

type Checked = { value: Json } | { error: RunError };

/**
 * Masks a value that is stored with a step, and counts its bytes. Returns an error if the value is
 * not JSON, or too large for the step or the run.
 */
export function maskValue(
  mask: Mask,
  value: Json,
  what: "input" | "output",
  budget: RunBudget,
): Checked {
  try {
    const masked = mask.json(value);
    // `undefined` is not JSON, but a node may omit its output.
    return count(masked, textBytes(JSON.stringify(masked) ?? ""), what, budget);
  } catch (cause) {
    if (!(cause instanceof RangeError))
      return { error: { code: `${what}_not_json`, message: `The ${what} is not JSON: ${cause}` } };
    return { error: tooLarge(what) };
  }
}

/** Like `maskValue`, for a rendered config: it may be too large to be serialized. */
export function maskConfig(mask: Mask, config: Json, budget: RunBudget): Checked {
  const checked = count(config, jsonBytes(config, MAX_VALUE_BYTES), "input", budget);
  return "error" in checked ? checked : { value: mask.json(config) };
}

function count(value: Json, bytes: number, what: "input" | "output", budget: RunBudget): Checked {
  const error = bytes > MAX_VALUE_BYTES ? tooLarge(what) : budget.take(bytes, what);
  return error ? { error } : { value };
}

const tooLarge = (what: "input" | "output"): RunError => ({
  code: `${what}_too_large`,
  message: `The ${what} of the step exceeds the limit of ${MAX_VALUE_MB} MB of JSON. ${what === "output" ? "Return" : "Pass"} less.`,
});
