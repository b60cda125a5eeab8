import type { Json } from "@signalbox/rules/json.ts";
import { jsonBytes, textBytes } from "@signalbox/rules/json-bytes.ts";
import {
  LARGE_BYTES,
  MAX_VALUE_BYTES,
  MAX_VALUE_MB,
  type MaybeLarge,
  type MixedJson,
  parseUnlessLarge,
  writeJson,
} from "@signalbox/rules/large-json.ts";
import { writeShared } from "@signalbox/rules/write-shared.ts";
import type { Mask } from "../../kernel/lib/mask.ts";
import type { RunError } from "./model.ts";
import type { RunBudget } from "./run-budget.ts";

type Field = "input" | "output";
type MaskedValue = { value: MaybeLarge } | { error: RunError };

/**
 * Masks a value before it is stored with a step, and counts its bytes. A large value becomes
 * `LargeJson`. Returns an error if the value is not JSON, or exceeds the limit of the step or the run.
 * Pass `writeShared` as `write` if a large value can occur several times in the value.
 */
export function maskValue(
  mask: Mask,
  value: MixedJson,
  field: Field,
  budget: RunBudget,
  write = writeJson,
): MaskedValue {
  try {
    // `undefined` is not JSON, but a node may omit its output.
    const text = (write(value) as string | undefined) ?? "";
    const error = countBytes(textBytes(text), field, budget);
    return error ? { error } : { value: maskText(mask, value, text) };
  } catch (cause) {
    if (!(cause instanceof RangeError))
      return {
        error: { code: `${field}_not_json`, message: `The ${field} is not JSON: ${cause}` },
      };
    return { error: tooLarge(field) };
  }
}

/** `text` is the JSON of the value. */
function maskText(mask: Mask, value: MixedJson, text: string): MaybeLarge {
  if (typeof value === "string" || text.length <= LARGE_BYTES) return mask.json(value as Json);
  // The masked text can be small, if the value had many secrets.
  return parseUnlessLarge(mask.jsonText(text));
}

/**
 * Like `maskValue`, for a rendered config. It is measured first, as it may be too large to
 * serialize.
 */
export function maskConfig(mask: Mask, config: MixedJson, budget: RunBudget): MaskedValue {
  const bytes = jsonBytes(config, MAX_VALUE_BYTES);
  const error = countBytes(bytes, "input", budget);
  if (error) return { error };
  if (bytes <= LARGE_BYTES) return { value: mask.json(config as Json) };
  return { value: maskText(mask, config, writeShared(config)) };
}

const countBytes = (bytes: number, field: Field, budget: RunBudget): RunError | undefined =>
  bytes > MAX_VALUE_BYTES ? tooLarge(field) : budget.reserve(bytes, field);

const tooLarge = (field: Field): RunError => ({
  code: `${field}_too_large`,
  message: `The ${field} of the step exceeds the limit of ${MAX_VALUE_MB} MB of JSON. ${field === "output" ? "Return" : "Pass"} less.`,
});
