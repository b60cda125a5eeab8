/** Replaces strings, with the names of members, and numbers in a JSON text, without parsing it. */
import { endOfString } from "./count-values.ts";

const QUOTE = 0x22;
const NUMBER = /[-+.\deE]+/y;
const startsNumber = (code: number): boolean => code === 0x2d || (code >= 0x30 && code <= 0x39);

/** `change` gets and returns JSON. */
export function mapScalars(text: string, change: (scalar: string) => string): string {
  const parts: string[] = [];
  let copied = 0;
  let at = 0;
  const replace = (end: number) => {
    const scalar = text.slice(at, end);
    const changed = change(scalar);
    if (changed !== scalar) {
      parts.push(text.slice(copied, at), changed);
      copied = end;
    }
    at = end;
  };
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) replace(endOfString(text, at) + 1);
    else if (startsNumber(code)) {
      NUMBER.lastIndex = at;
      NUMBER.test(text);
      replace(NUMBER.lastIndex);
    } else at += 1;
  }
  return parts.join("") + text.slice(copied);
}
