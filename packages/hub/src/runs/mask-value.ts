import type { Json } from "@signalbox/rules/json.ts";
import type { Mask } from "../lib/mask.ts";
import type { RunError } from "../store/run-store.ts";

const MAX_MB = 16;

/** Masks a value that is stored with a step. Returns an error if the value is too large or not JSON. */
export function maskValue(
  mask: Mask,
  value: Json,
  what: "input" | "output",
): { value: Json } | { error: RunError } {
  try {
    const masked = mask.json(value);
    // `undefined` is not JSON, but a node may omit its output.
    if ((JSON.stringify(masked) ?? "").length <= MAX_MB * 1_000_000) return { value: masked };
  } catch (cause) {
    if (!(cause instanceof RangeError))
      return { error: { code: `${what}_not_json`, message: `The ${what} is not JSON: ${cause}` } };
  }
  const message = `The ${what} of the step exceeds the limit of ${MAX_MB} MB of JSON. ${what === "output" ? "Return" : "Pass"} less.`;
  return { error: { code: `${what}_too_large`, message } };
}
