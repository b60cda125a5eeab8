import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import { defineJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";

export interface PartRequest {
  path?: string | undefined;
  /** The byte of the JSON at which a slice starts. */
  offset: number;
  maxBytes: number;
}

/** A payload or a part of it: the value or, if its JSON exceeds `maxBytes`, a slice of the JSON. */
export interface PayloadPart {
  payload: Json;
  /** Whether `payload` is a slice. */
  truncated?: boolean;
  /** The size of the whole JSON. */
  payload_bytes?: number;
  /** The byte at which the next slice starts; null after the last slice. */
  next_offset?: number | null;
}

export interface PayloadConditions {
  /** A condition is fulfilled if one of the values at its path is equal to its `value`. */
  conditions: readonly { path: string; value: string | number | boolean | null }[];
}

/**
 * Reads a part of a payload. Undefined if the payload has no value at the path. `text` is the JSON of
 * the whole payload, if the caller has it.
 */
export function readPart(
  whole: { value: Json; text?: string },
  { path, offset, maxBytes }: PartRequest,
): PayloadPart | undefined {
  const value = path === undefined ? whole.value : valueAt(whole.value, path);
  if (value === undefined) return undefined;
  const text = (path === undefined ? whole.text : undefined) ?? JSON.stringify(value);
  if (offset === 0 && text.length * MAX_UTF8_BYTES <= maxBytes) return { payload: value };
  const bytes = utf8(text);
  const isWhole = offset === 0 && bytes.byteLength <= maxBytes;
  return isWhole ? { payload: value } : slicePart(bytes, offset, maxBytes);
}

/** The maximum number of bytes for one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

/** The first value at the path, or an array of all values if the path has `[]`. */
function valueAt(payload: Json, path: string): Json | undefined {
  const values = valuesAt(payload, parsePath(path) ?? []);
  return path.includes("[]") ? values : values[0];
}

/**
 * Returns a slice of the JSON. It starts and ends between two characters. It contains at least one
 * character, unless it starts at the end.
 */
export function slicePart(bytes: Uint8Array, offset: number, maxBytes: number): PayloadPart {
  const { length } = bytes;
  /** True for a continuation byte of UTF-8. */
  const isInCharacter = (index: number) => ((bytes[index] ?? 0) & 0xc0) === 0x80;
  let from = Math.min(offset, length);
  while (isInCharacter(from)) from -= 1;
  let to = Math.min(offset + maxBytes, length);
  while (isInCharacter(to)) to -= 1;
  if (to <= from) for (to = Math.min(from + 1, length); isInCharacter(to); ) to += 1;
  return {
    payload: new TextDecoder().decode(bytes.subarray(from, to)),
    truncated: true,
    payload_bytes: length,
    next_offset: to < length ? to : null,
  };
}

export const areFulfilled = (conditions: PayloadConditions["conditions"], payload: Json): boolean =>
  conditions.every(({ path, value }) => valuesAt(payload, parsePath(path) ?? []).includes(value));

/** Reads a part of a large payload; the output is null if the path has no value. */
export const payloadPartJob = defineJob({
  name: "payload-part",
  reads: "text",
  run: ({ data: text, ...request }: PartRequest & { data: string }) =>
    readPart({ value: JSON.parse(text), text }, request) ?? null,
});

/** The output is true if the large payload fulfils the conditions. */
export const payloadMatchJob = defineJob({
  name: "payload-match",
  reads: "text",
  run: ({ data, conditions }: PayloadConditions & { data: string }) =>
    areFulfilled(conditions, JSON.parse(data)),
});
