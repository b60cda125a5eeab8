/** Returns why the text is invalid, as the predicate of a sentence; undefined if it is valid. */
export function textProblem(text: string, max: number): string | undefined {
  if (text.length > max) return `is longer than ${max} characters`;
  if (CONTROL.test(text)) return "contains control characters";
  return text.isWellFormed()
    ? undefined
    : "contains an unpaired surrogate, which is not valid Unicode";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it detects control characters
const CONTROL = /[\u0000-\u001f\u007f]/;
