/**
 * References to other nodes (`nodes.slug`) in the code of flow authors. In JSONata, the analysis of
 * the expression finds them, and they can be renamed. JavaScript is not parsed: a regular expression
 * finds the common forms, and the code is never rewritten.
 */
import type { JsonObject } from "../json.ts";
import type { FindAnalysis } from "./analyze-expression.ts";
import { bareJavaScript } from "./bare-javascript.ts";
import type { FlowNode } from "./model.ts";
import type { NodeDefinition } from "./node-type.ts";

interface CodeReferences {
  /** The slugs of the nodes, without duplicates. */
  slugs: readonly string[];
  /** Code has no access to secrets, so this is always a mistake. */
  readsSecrets: boolean;
}

/**
 * Returns undefined if the node has no code that can contain references, or if its expression was not
 * analyzed. Also returns undefined for triggers, whose code reads only the event.
 */
export function codeReferences(
  { parameters }: Pick<FlowNode, "parameters">,
  definition: NodeDefinition | undefined,
  findAnalysis: FindAnalysis,
): ({ field: string } & CodeReferences) | undefined {
  if (!definition?.code || definition.kind === "trigger") return undefined;
  const { field, language } = definition.code;
  const code = parameters[field];
  if (typeof code !== "string" || !/nodes|secrets/.test(code)) return undefined;
  const references =
    language === "javascript" ? readJavaScript(code) : readJsonata(code, findAnalysis);
  return (
    references && {
      field,
      slugs: [...new Set(references.slugs)],
      readsSecrets: references.readsSecrets || /\{\{\s{0,20}secrets\b/.test(code),
    }
  );
}

/** Rewrites references in a JSONata expression. */
export function renameInCode(
  definition: NodeDefinition | undefined,
  parameters: JsonObject,
  { from, to }: { from: string; to: string },
  findAnalysis: FindAnalysis,
): JsonObject {
  if (definition?.code?.language !== "jsonata" || definition.kind === "trigger") return parameters;
  const { field } = definition.code;
  const expression = parameters[field];
  if (typeof expression !== "string") return parameters;
  const renamed = renameInJsonata(expression, from, to, findAnalysis);
  return renamed === expression ? parameters : { ...parameters, [field]: renamed };
}

function readJsonata(text: string, findAnalysis: FindAnalysis): CodeReferences | undefined {
  const analysis = findAnalysis(text);
  return (
    analysis && {
      slugs: analysis.nodes.map(({ slug }) => slug),
      readsSecrets: analysis.readsSecrets,
    }
  );
}

/** These names must be quoted: without quotes they are operators or literals. */
const JSONATA_KEYWORDS = new Set(["and", "or", "in", "true", "false", "null", "function"]);

function renameInJsonata(
  text: string,
  from: string,
  to: string,
  findAnalysis: FindAnalysis,
): string {
  let renamed = text;
  // Replaces from the end, so that the indexes of earlier references stay valid.
  const nodes = (findAnalysis(text)?.nodes ?? []).toSorted((a, b) => b.end - a.end);
  for (const { slug, end } of nodes) {
    if (slug !== from) continue;
    const [quote = ""] = /[`"']$/.exec(text.slice(0, end)) ?? [];
    const start = end - from.length - 2 * quote.length;
    if (text.slice(start, end) !== quote + from + quote) continue; // written with escapes
    const quotes = quote || (JSONATA_KEYWORDS.has(to) ? "`" : "");
    renamed = renamed.slice(0, start) + quotes + to + quotes + renamed.slice(end);
  }
  return renamed;
}

/** The lookbehinds exclude members, such as `input.nodes`, and longer names, such as `mynodes`. */
const NODE_REFERENCE =
  /(?<![\w$])(?<!(?<!\.\.)\.)nodes\s{0,20}(?:\??\.\s{0,20}([A-Za-z_$][\w$]{0,99})|(?:\?\.\s{0,20})?\[\s{0,20}["']([^"'\\\n]{0,100})["']\s{0,20}\])/g;

/** Matches if the code declares its own variable `nodes`. */
const OWN_NODES =
  /(?<![\w$.])(?:const|let|var|class|function)\s{1,20}nodes\b|(?<![\w$.])function\b[\w$\s*]{0,100}\([^()]{0,200}?(?<![\w$.])nodes\b|(?<![\w$.])nodes\s{0,20}=[^=]|[{(,]\s{0,20}nodes\s{0,20}(?=[,})])[^;\n]{0,200}?(?:=>|\}\s{0,20}=[^=])/;

function readJavaScript(code: string): CodeReferences {
  // A string such as "nodes.fetch" is not a reference.
  const bare = bareJavaScript(code, (string) => /(?<![\w$])nodes/.test(string.slice(1)));
  const matches = OWN_NODES.test(bare) ? [] : [...bare.matchAll(NODE_REFERENCE)];
  const slugs = matches.flatMap(([, name, quoted]) => name ?? quoted ?? []);
  return { slugs: slugs.filter((slug) => !isBuiltIn(slug)), readsSecrets: false };
}

/** Returns true for the members of every object, and for `length`: these are not slugs. */
const isBuiltIn = (name: string): boolean => name in Object.prototype || name === "length";
