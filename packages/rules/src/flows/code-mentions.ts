/**
 * What code of a flow's author says of other nodes: `nodes.slug`. In JSONata that is read from the
 * parsed expression, and can be rewritten. For JavaScript there is no parser here: it is looked
 * through for what is plain to see, and left as it is.
 */
import type { JsonObject } from "../json.ts";
import { bareJavaScript } from "./bare-javascript.ts";
import { mentionsInJsonata } from "./jsonata-mentions.ts";
import type { FlowNode } from "./model.ts";

interface Said {
  /** Of nodes, each once. */
  slugs: readonly string[];
  /** It asks for secrets, of which code gets none. */
  secrets: boolean;
}

/** By the type of the node: the field with the code, and how to read it. */
const LANGUAGES: Readonly<Record<string, { field: string; read(code: string): Said }>> = {
  Code: { field: "code", read: readJavaScript },
  Transform: { field: "expression", read: readJsonata },
};

export function mentionsIn({
  type,
  parameters,
}: Pick<FlowNode, "type" | "parameters">): ({ field: string } & Said) | undefined {
  const language = LANGUAGES[type];
  if (!language) return undefined;
  const { field, read } = language;
  const code = parameters[field];
  if (typeof code !== "string" || !/nodes|secrets/.test(code)) return undefined;
  const { slugs, secrets } = read(code);
  return {
    field,
    slugs: [...new Set(slugs)],
    secrets: secrets || /\{\{\s{0,20}secrets\b/.test(code),
  };
}

/** As far as it can be done from a real parse. */
export function renameInCode(
  type: string,
  parameters: JsonObject,
  from: string,
  to: string,
): JsonObject {
  const { expression } = parameters;
  if (type !== "Transform" || typeof expression !== "string") return parameters;
  const renamed = renameInJsonata(expression, from, to);
  return renamed === expression ? parameters : { ...parameters, expression: renamed };
}

function readJsonata(text: string): Said {
  const { nodes, secrets } = mentionsInJsonata(text);
  return { slugs: nodes.map(({ slug }) => slug), secrets };
}

/** As names they would be operators or values. */
const JSONATA_WORDS = new Set(["and", "or", "in", "true", "false", "null", "function"]);

function renameInJsonata(text: string, from: string, to: string): string {
  let renamed = text;
  // From the end, so that the places before it stay where they are.
  for (const { slug, end } of mentionsInJsonata(text).nodes.toSorted((a, b) => b.end - a.end)) {
    if (slug !== from) continue;
    const [quote = ""] = /[`"']$/.exec(text.slice(0, end)) ?? [];
    const start = end - from.length - 2 * quote.length;
    if (text.slice(start, end) !== quote + from + quote) continue; // spelled with escapes
    const around = quote || (JSONATA_WORDS.has(to) ? "`" : "");
    renamed = renamed.slice(0, start) + around + to + around + renamed.slice(end);
  }
  return renamed;
}

/** What comes before `nodes` must not make it another one. */
const IN_JAVASCRIPT =
  /(?<![\w$])(?<!(?<!\.\.)\.)nodes\s{0,20}(?:\??\.\s{0,20}([A-Za-z_$][\w$]{0,99})|(?:\?\.\s{0,20})?\[\s{0,20}["']([^"'\\\n]{0,100})["']\s{0,20}\])/g;

/** The code has a `nodes` of its own somewhere. */
const OWN_NODES =
  /(?<![\w$.])(?:const|let|var|class|function)\s{1,20}nodes\b|(?<![\w$.])function\b[\w$\s*]{0,100}\([^()]{0,200}?(?<![\w$.])nodes\b|(?<![\w$.])nodes\s{0,20}=[^=]|[{(,]\s{0,20}nodes\s{0,20}(?=[,})])[^;\n]{0,200}?(?:=>|\}\s{0,20}=[^=])/;

function readJavaScript(code: string): Said {
  const bare = bareJavaScript(code, (text) => /(?<![\w$])nodes/.test(text.slice(1)));
  const found = OWN_NODES.test(bare) ? [] : [...bare.matchAll(IN_JAVASCRIPT)];
  const slugs = found.flatMap(([, name, quoted]) => name ?? quoted ?? []);
  return { slugs: slugs.filter((slug) => !isBuiltIn(slug)), secrets: false };
}

/** What every object has, and what is asked of a list. */
const isBuiltIn = (name: string): boolean => name in Object.prototype || name === "length";
