/** A large value that is loaded in parts of its JSON text. */
import type { Json } from "@signalbox/rules/json.ts";

export interface ValuePart {
  bytes: Uint8Array;
  /** The size of the whole value. */
  size: number;
}

export const PART_BYTES = 64 * 1024;
/** More text makes the page slow; the whole value can still be downloaded. */
export const MAX_TEXT_BYTES = 1024 * 1024;
/** A larger value is not parsed in the page. */
export const MAX_TREE_BYTES = 8 * 1024 * 1024;

export const loadedBytes = (parts: readonly ValuePart[]): number =>
  parts.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The first and last byte of the next part; undefined if there is none, or the text is long enough. */
export function nextRange(parts: readonly ValuePart[]): [number, number] | undefined {
  const from = loadedBytes(parts);
  const size = parts.at(-1)?.size ?? Number.POSITIVE_INFINITY;
  return from >= size || from >= MAX_TEXT_BYTES ? undefined : [from, from + PART_BYTES - 1];
}

/** Without a character that is cut off at the end. */
export function joinText(parts: readonly ValuePart[]): string {
  const decoder = new TextDecoder();
  return parts.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join("");
}

/** The value, if all of it is there. */
export function joinValue(parts: readonly ValuePart[]): { value: Json } | undefined {
  const last = parts.at(-1);
  if (!last || loadedBytes(parts) < last.size) return undefined;
  try {
    return { value: JSON.parse(joinText(parts)) as Json };
  } catch {
    return undefined;
  }
}
