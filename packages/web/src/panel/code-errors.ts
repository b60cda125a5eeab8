/** The syntax errors of code, with their places. */
import { javascriptLanguage } from "@codemirror/lang-javascript";

export type Language = "javascript" | "jsonata" | "json";

export interface CodeError {
  from: number;
  to: number;
  message: string;
}

export async function findCodeErrors(language: Language, text: string): Promise<CodeError[]> {
  if (text.trim() === "") return [];
  if (language === "json") return findInJson(text);
  if (language === "javascript") return findInJavaScript(text);
  const { default: jsonata } = await import("jsonata");
  try {
    jsonata(text);
    return [];
  } catch (error) {
    const { position = text.length, message } = error as { position?: number; message: string };
    return [at(text, position - 1, message)];
  }
}

const at = (text: string, position: number, message: string): CodeError => {
  const from = Math.max(0, Math.min(position, text.length - 1));
  return { from, to: Math.min(from + 1, text.length), message };
};

function findInJson(text: string): CodeError[] {
  try {
    JSON.parse(text);
    return [];
  } catch (error) {
    const { message } = error as Error;
    return [at(text, Number(/position (\d+)/.exec(message)?.[1] ?? text.length), message)];
  }
}

/** The body of a function: `return` is allowed in it, as in the sandbox. */
function findInJavaScript(text: string): CodeError[] {
  const errors: CodeError[] = [];
  javascriptLanguage.parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError && errors.length === 0)
        errors.push(at(text, from, "The code is not complete or not valid here."));
    },
  });
  return errors;
}
