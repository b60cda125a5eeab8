import { endOfString } from "../json-text.ts";

/**
 * Splits the valid JSON text of an array into the texts of its elements. Stringifying the parsed
 * elements instead would change numbers that JavaScript cannot represent.
 */
export function jsonElements(text: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === "[" || character === "{") {
      depth += 1;
      if (depth === 1) start = at + 1;
    } else if (character === "]" || character === "}") {
      depth -= 1;
      if (depth === 0) elements.push(text.slice(start, at).trim());
    } else if (character === "," && depth === 1) {
      elements.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return elements.length === 1 && elements[0] === "" ? [] : elements;
}
