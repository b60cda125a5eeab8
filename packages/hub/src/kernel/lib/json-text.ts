/** Counts, finds and replaces values in the text of valid JSON, without parsing it. */
import { utf8 } from "./bytes.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** "{" or "[" */
const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b;
/** "}" or "]" */
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d;

/**
 * Returns whether valid JSON has more than `limit` values. Call it before parsing, because parsed
 * values take many times the memory of their text. JSON with n values has at least 2n - 1 characters,
 * so a short text is not scanned.
 */
export function hasMoreValues(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false;
  // The whole text is one value. Each array or object adds its first member and one per comma.
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || (isOpening(code) && !isEmpty(text, at))) {
      values += 1;
      if (values > limit) return true;
    }
  }
  return false;
}

/** Returns whether any value of the JSON is inside more than `depth` arrays and objects. */
export function isTextDeeperThan(depth: number, text: string): boolean {
  let levels = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isClosing(code)) levels -= 1;
    else if (levels > depth && code > SPACE) return true;
    else if (code === QUOTE) at = endOfString(text, at);
    else if (isOpening(code)) levels += 1;
  }
  return false;
}

/** Returns whether the array or object that opens at `opening` has no members. */
function isEmpty(text: string, opening: number): boolean {
  let at = opening + 1;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return isClosing(text.charCodeAt(at));
}

export interface TextRange {
  start: number;
  end: number;
}

/**
 * Converts ranges of a text to ranges of the UTF-8 bytes from which it was decoded. The ranges must be in
 * ascending order and must not overlap.
 */
export function toByteRanges(
  ranges: readonly TextRange[],
  text: string,
  bytes: Uint8Array,
): readonly TextRange[] {
  // In plain ASCII, positions in the text are positions in the bytes.
  if (text.length === bytes.byteLength) return ranges;
  let position = 0;
  let byteOffset = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0; // a byte order mark
  const advance = (end: number): number => {
    byteOffset += utf8(text.slice(position, end)).byteLength;
    position = end;
    return byteOffset;
  };
  return ranges.map(({ start, end }) => ({ start: advance(start), end: advance(end) }));
}

/**
 * Finds the range of a member's value in the JSON text of an object; undefined if there is no such
 * member. If the name is repeated, the last member counts, as in `JSON.parse`.
 */
export function memberRange(text: string, name: string): TextRange | undefined {
  let range: TextRange | undefined;
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const opening = skipSpace(text, at + 1);
    if (text[opening] !== '"') break; // an empty object
    const closing = endOfString(text, opening);
    const start = skipSpace(text, skipSpace(text, closing + 1) + 1);
    const end = endOfValue(text, start);
    if (isName(text.slice(opening, closing + 1), name)) range = { start, end };
    at = skipSpace(text, end);
    if (text[at] !== ",") break;
  }
  return range;
}

const isName = (quoted: string, name: string): boolean =>
  quoted.includes("\\")
    ? JSON.parse(quoted) === name
    : quoted.length === name.length + 2 && quoted.startsWith(name, 1);

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

/** The index after the value that starts at `start`. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start) + 1;
  if (!isOpening(first)) return endOfLiteral(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (isOpening(code)) depth += 1;
    else if (isClosing(code)) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** The index after a number, `true`, `false` or `null`. */
function endOfLiteral(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= SPACE || code === COMMA || isClosing(code)) break;
  }
  return at;
}

/** "-" or a digit */
const startsNumber = (code: number): boolean => code === 0x2d || (code >= 0x30 && code <= 0x39);
/** "-", "+", ".", "E", "e" or a digit */
const isInNumber = (code: number): boolean =>
  startsNumber(code) || code === 0x2b || code === 0x2e || code === 0x45 || code === 0x65;

/**
 * `change` receives and returns the JSON of one string or number. It is called only if `isWanted`
 * returns true for the range of the scalar in the text.
 */
export function mapScalars(
  text: string,
  change: (scalar: string) => string,
  isWanted: (from: number, to: number, isString: boolean) => boolean = () => true,
): string {
  const parts: string[] = [];
  let copiedUntil = 0;
  let at = 0;
  const visit = (end: number, isString: boolean) => {
    if (!isWanted(at, end, isString)) {
      at = end;
      return;
    }
    const scalar = text.slice(at, end);
    const changed = change(scalar);
    if (changed !== scalar) {
      parts.push(text.slice(copiedUntil, at), changed);
      copiedUntil = end;
    }
    at = end;
  };
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) visit(endOfString(text, at) + 1, true);
    else if (startsNumber(code)) {
      let end = at + 1;
      while (isInNumber(text.charCodeAt(end))) end += 1;
      visit(end, false);
    } else at += 1;
  }
  return parts.join("") + text.slice(copiedUntil);
}

/** Returns the index of the quote that closes the string which opens at `opening`. */
export function endOfString(text: string, opening: number): number {
  let at = opening;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}
