/**
 * Encloses untrusted text in tags whose name contains a nonce. The nonce is created after the text is
 * known, and does not occur in it, so that no text can close its own fence.
 */
import { type MixedJson, writeJson } from "../../large-json.ts";

/** Data with the nonce of its fence. Both are recorded, so that a repeated turn sends the same text. */
export interface UntrustedText {
  text: string;
  /** How many characters were cut off at the end. */
  cut: number;
  nonce: string;
}

/** A string is used unchanged; other values are serialized as JSON. */
export function toUntrustedText(
  data: MixedJson,
  maxCharacters: number,
  newNonce: () => string,
): UntrustedText {
  const whole = typeof data === "string" ? data : writeJson(data);
  const text = truncate(whole, maxCharacters);
  let nonce = newNonce();
  while (text.includes(nonce)) nonce = newNonce();
  return { text, cut: whole.length - text.length, nonce };
}

export function fence({ text, cut, nonce }: UntrustedText): string {
  const tag = `untrusted_${nonce}`;
  const shown = text.length.toLocaleString("en");
  const notice =
    cut === 0
      ? ""
      : `\n[The data exceeds the limit: only its first ${shown} of ${(text.length + cut).toLocaleString("en")} characters are shown.]`;
  return `<${tag}>\n${text}\n</${tag}>${notice}`;
}

/** Does not split a surrogate pair. */
function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
