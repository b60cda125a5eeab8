import { endOfString } from "../../kernel/lib/count-values.ts";
import type { TextRange } from "../../kernel/lib/json-text.ts";

/**
 * Finds the ranges of an array's elements in its valid JSON text. Serializing the parsed elements instead
 * would change numbers that JavaScript cannot represent.
 */
export function jsonElements(text: string): TextRange[] {
  const elements: TextRange[] = [];
  let depth = 0;
  let start = 0;
  const add = (end: number) => {
    const element = text.slice(start, end);
    const from = start + (element.length - element.trimStart().length);
    elements.push({ start: from, end: from + element.trim().length });
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === "[" || character === "{") {
      depth += 1;
      if (depth === 1) start = at + 1;
    } else if (character === "]" || character === "}") {
      depth -= 1;
      if (depth === 0) add(at);
    } else if (character === "," && depth === 1) {
      add(at);
      start = at + 1;
    }
  }
  // The text between the brackets of an empty array is not an element.
  const [first] = elements;
  return elements.length === 1 && first?.start === first?.end ? [] : elements;
}
