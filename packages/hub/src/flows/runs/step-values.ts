/**
 * The values that steps read and store: masked before they are stored, limited in size, and parsed only
 * where a value is needed instead of its text.
 */

import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { jsonBytes, textBytes } from "@signalbox/rules/json-bytes.ts";
import {
  LARGE_BYTES,
  LargeJson,
  MAX_VALUE_BYTES,
  MAX_VALUE_MB,
  type MaybeLarge,
  type MixedJson,
  type MixedObject,
  parseUnlessLarge,
  writeJson,
} from "@signalbox/rules/large-json.ts";
import { writeShared } from "@signalbox/rules/write-shared.ts";
import { hasMoreValues } from "../../kernel/lib/json-text.ts";
import type { Mask } from "../../kernel/lib/mask.ts";
import type { RunError } from "./model.ts";

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

/** Limits the bytes of the values that a run stores with its steps. */
export interface RunBudget {
  /**
   * Reserves the bytes of a value before it is stored. Returns an error if the run exceeds its
   * limit.
   */
  reserve(bytes: number, field: "input" | "output"): RunError | undefined;
}

/** `used`: the bytes that were stored before the run was claimed. */
export function createRunBudget(limit: number, used: number): RunBudget {
  let remaining = limit - used;
  return {
    reserve(bytes, field) {
      if (bytes > remaining)
        return {
          code: "run_too_large",
          message:
            `The ${field} of the step has ${formatBytes(bytes)} of JSON, but the run may store only ` +
            `${formatBytes(Math.max(0, remaining))} more: its limit is ${formatBytes(limit)} for all steps. ` +
            `${field === "output" ? "Return" : "Pass"} less, or raise SIGNALBOX_RUN_BYTES.`,
        };
      remaining -= bytes;
      return undefined;
    },
  };
}

/** Returns a text such as `1.3 MB`, or `12.1 kB` below one megabyte. */
const formatBytes = (bytes: number): string =>
  bytes < 1_000_000
    ? `${Math.round(bytes / 100) / 10} kB`
    : `${Math.round(bytes / 100_000) / 10} MB`;

/** Parsing this much blocks the event loop for about 50 ms. */
const MAX_CHARACTERS = 8_000_000;
const MAX_VALUES = 100_000;

/**
 * Parses large JSON for nodes and MCP clients that need the value, not the text. Throws `Permanent` if the
 * large JSON exceeds the limits.
 */
export function parseLarge(value: MixedJson): Json {
  const largeValues = new Set<LargeJson>();
  jsonBytes(value, Number.POSITIVE_INFINITY, (large) => void largeValues.add(large));
  if (largeValues.size === 0) return value as Json;
  const texts = [...largeValues].map(({ text }) => text).join(",");
  if (texts.length > MAX_CHARACTERS || hasMoreValues(texts, MAX_VALUES)) throw tooLargeToParse();
  const parsed = new Map<LargeJson, Json>();
  for (const large of largeValues) parsed.set(large, JSON.parse(large.text) as Json);
  return replaceLarge(value, parsed);
}

const tooLargeToParse = () =>
  new Permanent(
    `The value exceeds the limit of ${MAX_CHARACTERS / 1_000_000} MB of JSON or ${MAX_VALUES} values. Select less with a Transform or Code node first.`,
    { code: "input_too_large" },
  );

function replaceLarge(value: MixedJson, parsed: ReadonlyMap<LargeJson, Json>): Json {
  if (value instanceof LargeJson) return parsed.get(value) ?? null;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: MixedJson) => replaceLarge(item, parsed));
  return Object.fromEntries(
    Object.entries(value as MixedObject).flatMap(([name, member]) =>
      member === undefined ? [] : [[name, replaceLarge(member, parsed)]],
    ),
  );
}
