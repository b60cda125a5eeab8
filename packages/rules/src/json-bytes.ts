/** The size of values as JSON in UTF-8, approximately and without serializing them. */
import { LargeJson, type MixedJson, type MixedObject } from "./large-json.ts";

const encoder = new TextEncoder();

/** Texts up to this length are not encoded to count their bytes. */
const SHORT = 1_000;

export const textBytes = (text: string): number =>
  text.length <= SHORT ? text.length : encoder.encode(text).byteLength;

/**
 * Stops when the size exceeds `max`: a template can refer to a large value many times, which costs
 * memory only when the value is serialized. Escapes are not counted, and large texts are counted in
 * characters. Calls `onLarge` for each `LargeJson`.
 */
export function jsonBytes(
  value: MixedJson | undefined,
  max: number,
  onLarge?: (large: LargeJson) => void,
): number {
  if (typeof value === "string") return 2 + textBytes(value);
  if (typeof value === "number") return String(value).length;
  if (typeof value !== "object" || value === null) return 4;
  if (value instanceof LargeJson) {
    onLarge?.(value);
    return value.length;
  }
  let bytes = 2;
  const add = (item: MixedJson | undefined) => {
    bytes += 1 + jsonBytes(item, max - bytes, onLarge);
  };
  if (Array.isArray(value)) {
    for (const item of value) {
      if (bytes > max) break;
      add(item);
    }
    return bytes;
  }
  const members = value as MixedObject;
  for (const name in members) {
    if (bytes > max) break;
    bytes += name.length + 3;
    add(members[name]);
  }
  return bytes;
}
