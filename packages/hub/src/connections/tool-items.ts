/** Finds the list in the result of a polled tool. */
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import type { ToolAnswer } from "./connections.ts";
import { MAX_DEPTH } from "./limits.ts";

/** Throws an error that names the fix if the result has no list at the path. */
export function itemsOf(answer: ToolAnswer, path: string | undefined): readonly Json[] {
  const result = resultOf(answer);
  if (isDeeperThan(MAX_DEPTH, result))
    throw new Error(`The result of the tool is nested deeper than ${MAX_DEPTH} levels.`);
  const parsed = path === undefined ? undefined : parsePath(path);
  const values = parsed ? valuesAt(result, parsed) : [result];
  const [first] = values;
  if (values.length === 1 && Array.isArray(first)) return first;
  // `pages[].items` selects several lists, and `ids[]` selects the items themselves.
  if (path?.includes("[]")) return values.flat();
  throw new Error(
    path === undefined
      ? "The result of the tool is not a list. Set poll.items to the path of the list in it."
      : `The result of the tool has no list at ${path}. Correct poll.items.`,
  );
}

/** The structured content, or the parsed text. Some servers return one text block for each item. */
function resultOf({ structuredContent, content }: ToolAnswer): Json {
  if (structuredContent !== undefined) return structuredContent;
  const texts = content.flatMap(({ type, text }) =>
    type === "text" && typeof text === "string" ? [text] : [],
  );
  try {
    const values = texts.map((text) => JSON.parse(text) as Json);
    return values.length === 1 ? (values[0] as Json) : values;
  } catch {
    throw new Error(
      "The tool returned text that is not JSON. Poll a tool with structured content, or with JSON as its text.",
    );
  }
}
