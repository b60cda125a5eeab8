/** The size of values as JSON in UTF-8, approximately and without serializing them. */
import { LargeJson, type MixedJson, type MixedObject } from "./large-json.ts";

const encoder = new TextEncoder();

/** Texts up to this length are not encoded to count their bytes. */
const SHORT = 1_000;

export const textBytes = (text: string): number =>
  text.length <= SHORT ? text.length : encoder.encode(text).byteLength;

/** The sizes of longer values that were measured before: templates can refer to a value many times. */
export type KnownSizes = Map<MixedJson, number>;

/**
 * Stops when the size exceeds `max`, and measures a value that occurs several times once. Escapes are
 * not counted, and large texts are counted in characters. Calls `onLarge` for each `LargeJson`.
 */
export function jsonBytes(
  value: MixedJson | undefined,
  max: number,
  onLarge?: (large: LargeJson) => void,
  known: KnownSizes = new Map(),
): number {
  if (typeof value === "number") return String(value).length;
  if (typeof value === "string" && value.length <= SHORT) return 2 + value.length;
  if (value === undefined || value === null || typeof value === "boolean") return 4;
  if (value instanceof LargeJson) {
    onLarge?.(value);
    return value.length;
  }
  const measured = known.size > 0 ? known.get(value) : undefined;
  if (measured !== undefined) return measured;
  const bytes =
    typeof value === "string" ? 2 + textBytes(value) : membersBytes(value, max, onLarge, known);
  if (bytes > SHORT) known.set(value, bytes);
  return bytes;
}

function membersBytes(
  value: readonly MixedJson[] | MixedObject,
  max: number,
  onLarge: ((large: LargeJson) => void) | undefined,
  known: KnownSizes,
): number {
  let bytes = 2;
  const add = (item: MixedJson | undefined) => {
    bytes += 1 + jsonBytes(item, max - bytes, onLarge, known);
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
