/** The size of values as JSON in UTF-8, approximately and without serializing them. */
import type { Json } from "./json.ts";

const encoder = new TextEncoder();

/** Texts up to this length are not encoded to count their bytes. */
const SHORT = 1_000;

export const textBytes = (text: string): number =>
  text.length <= SHORT ? text.length : encoder.encode(text).byteLength;

/**
 * Stops when the size exceeds `max`: a template can refer to a large value many times, which costs
 * memory only when the value is serialized. Escapes are not counted.
 */
export function jsonBytes(value: Json | undefined, max: number): number {
  if (typeof value === "string") return 2 + textBytes(value);
  if (typeof value === "number") return String(value).length;
  if (typeof value !== "object" || value === null) return 4;
  let bytes = 2;
  const add = (item: Json | undefined) => {
    bytes += 1 + jsonBytes(item, max - bytes);
  };
  if (Array.isArray(value)) {
    for (const item of value) {
      if (bytes > max) break;
      add(item);
    }
    return bytes;
  }
  for (const name in value) {
    if (bytes > max) break;
    bytes += name.length + 3;
    add(value[name]);
  }
  return bytes;
}
