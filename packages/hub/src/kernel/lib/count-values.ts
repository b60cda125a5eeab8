/** Compares the number of values in a JSON text, and their nesting, with limits, without parsing it. */

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** "{" or "[" */
export const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b;
/** "}" or "]" */
export const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d;

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
