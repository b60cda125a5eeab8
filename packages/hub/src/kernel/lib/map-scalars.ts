/** Replaces strings (including member names) and numbers in a JSON text, without parsing it. */
import { endOfString } from "./count-values.ts";

const QUOTE = 0x22;
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
