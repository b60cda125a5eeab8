/** Finds values in the text of valid JSON, without serializing parsed values again. */

import { utf8 } from "./bytes.ts";
import { endOfString, isClosing, isOpening } from "./count-values.ts";

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

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;

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
