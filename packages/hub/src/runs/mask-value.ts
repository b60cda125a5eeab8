import type { Json } from "@signalbox/rules/json.ts";
import { jsonBytes, textBytes } from "@signalbox/rules/json-bytes.ts";
import {
  LARGE_BYTES,
  type MaybeLarge,
  type MixedJson,
  parseUnlessLarge,
  writeJson,
} from "@signalbox/rules/large-json.ts";
import { writeShared } from "@signalbox/rules/write-shared.ts";
import type { Mask } from "../lib/mask.ts";
import type { RunError } from "../store/run-store.ts";
import type { RunBudget } from "./run-budget.ts";

export const MAX_VALUE_MB = 8;
export const MAX_VALUE_BYTES = MAX_VALUE_MB * 1_000_000;

type What = "input" | "output";
type Checked = { value: MaybeLarge } | { error: RunError };

/**
 * Masks a value that is stored with a step, and counts its bytes. A large value becomes text. Returns
 * an error if the value is not JSON, or too large for the step or the run. `write` is `writeShared` if
 * the value can contain another many times.
 */
export function maskValue(
  mask: Mask,
  value: MixedJson,
  what: What,
  budget: RunBudget,
  write = writeJson,
): Checked {
  try {
    // `undefined` is not JSON, but a node may omit its output.
    const text = (write(value) as string | undefined) ?? "";
    const error = count(textBytes(text), what, budget);
    return error ? { error } : { value: masked(mask, value, text) };
  } catch (cause) {
    if (!(cause instanceof RangeError))
      return { error: { code: `${what}_not_json`, message: `The ${what} is not JSON: ${cause}` } };
    return { error: tooLarge(what) };
  }
}

function masked(mask: Mask, value: MixedJson, text: string): MaybeLarge {
  if (typeof value === "string" || text.length <= LARGE_BYTES) return mask.json(value as Json);
  // It can be small now, if it had many secrets.
  return parseUnlessLarge(mask.jsonText(text));
}

/** Like `maskValue`, for a rendered config: it may be too large to be serialized. */
export function maskConfig(mask: Mask, config: MixedJson, budget: RunBudget): Checked {
  const bytes = jsonBytes(config, MAX_VALUE_BYTES);
  const error = count(bytes, "input", budget);
  if (error) return { error };
  if (bytes <= LARGE_BYTES) return { value: mask.json(config as Json) };
  return { value: masked(mask, config, writeShared(config)) };
}

const count = (bytes: number, what: What, budget: RunBudget): RunError | undefined =>
  bytes > MAX_VALUE_BYTES ? tooLarge(what) : budget.take(bytes, what);

const tooLarge = (what: What): RunError => ({
  code: `${what}_too_large`,
  message: `The ${what} of the step exceeds the limit of ${MAX_VALUE_MB} MB of JSON. ${what === "output" ? "Return" : "Pass"} less.`,
});
