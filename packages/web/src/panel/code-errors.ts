/** Finds syntax errors in code, with their positions. */
import { javascriptLanguage } from "@codemirror/lang-javascript";

export type Language = "javascript" | "jsonata" | "json";

export interface CodeError {
  from: number;
  to: number;
  message: string;
}

export async function findCodeErrors(language: Language, text: string): Promise<CodeError[]> {
  if (text.trim() === "") return [];
  if (language === "json") return findJsonErrors(text);
  if (language === "javascript") return findJavaScriptErrors(text);
  const { default: jsonata } = await import("jsonata");
  try {
    jsonata(text);
    return [];
  } catch (error) {
    const { position = text.length, message } = error as { position?: number; message: string };
    // JSONata reports the index after the invalid token.
    return [errorAt(text, position - 1, message)];
  }
}

const errorAt = (text: string, position: number, message: string): CodeError => {
  const from = Math.max(0, Math.min(position, text.length - 1));
  return { from, to: Math.min(from + 1, text.length), message };
};

function findJsonErrors(text: string): CodeError[] {
  try {
    JSON.parse(text);
    return [];
  } catch (error) {
    const { message } = error as Error;
    return [errorAt(text, Number(/position (\d+)/.exec(message)?.[1] ?? text.length), message)];
  }
}

/** Returns only the first error, because it often causes the others. */
function findJavaScriptErrors(text: string): CodeError[] {
  const errors: CodeError[] = [];
  javascriptLanguage.parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError && errors.length === 0)
        errors.push(errorAt(text, from, "Syntax error: the code is incomplete or invalid here."));
    },
  });
  return errors;
}
