import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import type {
  PartRequest,
  PayloadConditions,
  PayloadPart,
} from "@signalbox/rules/match/payload-part.ts";
import { utf8 } from "../lib/hmac.ts";

/** Undefined if there is no value at the path. `text` is the JSON of the whole, if it is known. */
export function readPart(
  whole: { value: Json; text?: string },
  { path, offset, maxBytes }: PartRequest,
): PayloadPart | undefined {
  const value = path === undefined ? whole.value : valueAt(whole.value, path);
  if (value === undefined) return undefined;
  const text = (path === undefined ? whole.text : undefined) ?? JSON.stringify(value);
  if (offset === 0 && text.length * MAX_UTF8_BYTES <= maxBytes) return { payload: value };
  const json = utf8(text);
  const fits = offset === 0 && json.byteLength <= maxBytes;
  return fits ? { payload: value } : slicePart(json, offset, maxBytes);
}

/** Of one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

/** All values, if the path has `[]`. */
function valueAt(payload: Json, path: string): Json | undefined {
  const values = valuesAt(payload, parsePath(path) ?? []);
  return path.includes("[]") ? values : values[0];
}

/** A slice starts and ends between two characters, and has at least one. */
export function slicePart(json: Uint8Array, offset: number, maxBytes: number): PayloadPart {
  const { length } = json;
  const isInCharacter = (at: number) => ((json[at] ?? 0) & 0xc0) === 0x80;
  let from = Math.min(offset, length);
  while (isInCharacter(from)) from -= 1;
  let to = Math.min(offset + maxBytes, length);
  while (isInCharacter(to)) to -= 1;
  if (to <= from) for (to = Math.min(from + 1, length); isInCharacter(to); ) to += 1;
  return {
    payload: new TextDecoder().decode(json.subarray(from, to)),
    truncated: true,
    payload_bytes: length,
    next_offset: to < length ? to : null,
  };
}

export const areFulfilled = (conditions: PayloadConditions["conditions"], payload: Json): boolean =>
  conditions.every(({ path, value }) => valuesAt(payload, parsePath(path) ?? []).includes(value));
