/** The size of values as JSON in UTF-8, without serializing them. */
import { LargeJson, type MixedJson, type MixedObject } from "./large-json.ts";

const encoder = new TextEncoder();

/** The size of values above this is kept, so that it is measured once. */
const SHORT = 1_000;

export const textBytes = (text: string): number => encoder.encode(text).byteLength;

/** The sizes of longer values that were measured before: templates can refer to a value many times. */
export type KnownSizes = Map<MixedJson, number>;

/**
 * Stops when the size exceeds `max`, and measures a value that occurs several times once. The size is
 * a few bytes too large for members that are undefined. Calls `onLarge` for each `LargeJson`.
 */
export function jsonBytes(
  value: MixedJson | undefined,
  max: number,
  onLarge?: (large: LargeJson) => void,
  known: KnownSizes = new Map(),
): number {
  if (typeof value === "number") return String(value).length;
  if (value === undefined || value === null || typeof value === "boolean")
    return value === false ? 5 : 4;
  if (typeof value === "string" && value.length <= SHORT) return stringBytes(value);
  if (value instanceof LargeJson) onLarge?.(value);
  const measured = known.size > 0 ? known.get(value) : undefined;
  if (measured !== undefined) return measured;
  const bytes = measure(value, max, onLarge, known);
  if (bytes > SHORT) known.set(value, bytes);
  return bytes;
}

function measure(
  value: string | LargeJson | readonly MixedJson[] | MixedObject,
  max: number,
  onLarge: ((large: LargeJson) => void) | undefined,
  known: KnownSizes,
): number {
  const isLarge = value instanceof LargeJson;
  if (!isLarge && typeof value !== "string") return membersBytes(value, max, onLarge, known);
  // It has at least one byte per character.
  if (value.length > max) return value.length;
  return isLarge ? textBytes(value.text) : stringBytes(value);
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
      else if (code < FIRST_LOW && isLow(text.charCodeAt(at + 1))) {
        bytes += 2; // a pair has four bytes
        at += 1;
      } else bytes += 5; // a single one is escaped
    }
  }
  return bytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Backspace, tab, line feed, form feed, carriage return. */
const SHORT_ESCAPES: readonly number[] = [8, 9, 10, 12, 13];
const FIRST_LOW = 0xdc00;
const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;
const isLow = (code: number): boolean => code >= FIRST_LOW && code <= 0xdfff;
