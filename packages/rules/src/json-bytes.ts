/** Computes the size of values as JSON in UTF-8, without serializing them. */
import { LargeJson, type MixedJson, type MixedObject } from "./large-json.ts";

const encoder = new TextEncoder();

/** The sizes of smaller values are not cached: measuring them again is fast. */
const MIN_CACHED_BYTES = 1_000;

export const textBytes = (text: string): number => encoder.encode(text).byteLength;

/** A template can refer to one value many times, so the sizes of values are cached. */
export type SizeCache = Map<MixedJson, number>;

/**
 * Stops when the size exceeds `max`, and calls `onLarge` for each `LargeJson`. The result is slightly
 * too large: it includes a comma after the last member, and members that are undefined.
 */
export function jsonBytes(
  value: MixedJson | undefined,
  max: number,
  onLarge?: (large: LargeJson) => void,
  cache: SizeCache = new Map(),
): number {
  if (typeof value === "number") return String(value).length;
  if (value === undefined || value === null || typeof value === "boolean")
    return value === false ? 5 : 4;
  if (typeof value === "string" && value.length <= MIN_CACHED_BYTES) return stringBytes(value);
  if (value instanceof LargeJson) onLarge?.(value);
  const cached = cache.size > 0 ? cache.get(value) : undefined;
  if (cached !== undefined) return cached;
  const bytes = measure(value, max, onLarge, cache);
  if (bytes > MIN_CACHED_BYTES) cache.set(value, bytes);
  return bytes;
}

function measure(
  value: string | LargeJson | readonly MixedJson[] | MixedObject,
  max: number,
  onLarge: ((large: LargeJson) => void) | undefined,
  cache: SizeCache,
): number {
  const isLarge = value instanceof LargeJson;
  if (!isLarge && typeof value !== "string") return membersBytes(value, max, onLarge, cache);
  // Each character has at least one byte, so the size exceeds `max` too.
  if (value.length > max) return value.length;
  return isLarge ? textBytes(value.text) : stringBytes(value);
}

function membersBytes(
  value: readonly MixedJson[] | MixedObject,
  max: number,
  onLarge: ((large: LargeJson) => void) | undefined,
  cache: SizeCache,
): number {
  let bytes = 2;
  const add = (item: MixedJson | undefined) => {
    bytes += 1 + jsonBytes(item, max - bytes, onLarge, cache);
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
    bytes += 1 + stringBytes(name);
    add(members[name]);
  }
  return bytes;
}

/** The bytes of a string with its quotes and escapes. */
function stringBytes(text: string): number {
  let bytes = 2 + text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20) bytes += SHORT_ESCAPES.includes(code) ? 1 : 5;
    else if (code === QUOTE || code === BACKSLASH) bytes += 1;
    else if (code >= 0x80) {
      if (code < 0x800) bytes += 1;
      else if (!isSurrogate(code)) bytes += 2;
      else if (code < FIRST_LOW_SURROGATE && isLowSurrogate(text.charCodeAt(at + 1))) {
        bytes += 2; // a surrogate pair has four bytes
        at += 1;
      } else bytes += 5; // a lone surrogate is escaped, such as \ud83d
    }
  }
  return bytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Backspace, tab, line feed, form feed and carriage return: their escapes have two characters. */
const SHORT_ESCAPES: readonly number[] = [8, 9, 10, 12, 13];
const FIRST_LOW_SURROGATE = 0xdc00;
const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;
const isLowSurrogate = (code: number): boolean => code >= FIRST_LOW_SURROGATE && code <= 0xdfff;
