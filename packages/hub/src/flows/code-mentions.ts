/**
 * What code of a flow's author says of other nodes: `nodes.slug`. In JSONata that is read from the
 * parsed expression, and can be rewritten. For JavaScript there is no parser here: it is looked
 * through for what is plain to see, and left as it is.
 */
import jsonata from "jsonata";
import { isObject, type Json, type JsonObject } from "../lib/json.ts";
import type { FlowNode } from "./model.ts";

/** By the type of the node: the field with the code, and how to read it. */
const LANGUAGES: Readonly<
  Record<string, { field: string; mentions(code: string): readonly string[] }>
> = {
  Code: { field: "code", mentions: mentionsInJavaScript },
  Transform: {
    field: "expression",
    mentions: (text) => mentionsInJsonata(text).map(({ slug }) => slug),
  },
};

/** The slugs that a node's code speaks of, each once. */
export function mentionsIn({
  type,
  parameters,
}: Pick<FlowNode, "type" | "parameters">): { field: string; slugs: string[] } | undefined {
  const { field = "", mentions = () => [] } = LANGUAGES[type] ?? {};
  const code = parameters[field];
  if (typeof code !== "string" || !code.includes("nodes")) return undefined;
  return { field, slugs: [...new Set(mentions(code))] };
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

interface Mention {
  slug: string;
  /** Where its name ends, with the quotes around it. */
  end: number;
}

function mentionsInJsonata(text: string): Mention[] {
  const found: Mention[] = [];
  /** `atRoot`: names stand for what the expression was given, not for part of it. */
  const visit = (part: Json | undefined, atRoot: boolean): void => {
    if (Array.isArray(part)) for (const one of part) visit(one, atRoot);
    if (!isObject(part)) return;
    if (part.type === "path" && Array.isArray(part.steps)) {
      const mention = readPath(part.steps, atRoot);
      if (mention) found.push(mention);
      const [first, ...rest] = part.steps;
      visit(first, atRoot);
      visit(rest, false);
      visit(part.group, false);
      return;
    }
    for (const [name, inner] of Object.entries(part))
      visit(inner, atRoot && part.type !== "transform" && !WITHIN.has(name));
  };
  try {
    // As JSON: what is not data, such as a regular expression, says nothing of nodes.
    visit(JSON.parse(JSON.stringify(jsonata(text).ast())) as Json, true);
  } catch {
    return []; // that it cannot be read is told elsewhere
  }
  return found;
}

/** What these hold is looked up in the value before them. */
const WITHIN = new Set(["stages", "predicate", "group", "terms"]);

/** `nodes.slug`, or from anywhere `$$.nodes.slug`. */
function readPath(steps: readonly Json[], atRoot: boolean): Mention | undefined {
  const [start] = steps;
  const isWhole = isObject(start) && start.type === "variable" && start.value === "$";
  if (!isWhole && !atRoot) return undefined;
  const [nodes, name] = isWhole ? steps.slice(1) : steps;
  if (!isObject(nodes) || nodes.type !== "name" || nodes.value !== "nodes") return undefined;
  if (!isObject(name) || name.type !== "name" || typeof name.value !== "string") return undefined;
  return { slug: name.value, end: Number(name.position) };
}

/** As names they would be operators or values. */
const JSONATA_WORDS = new Set(["and", "or", "in", "true", "false", "null", "function"]);

function renameInJsonata(text: string, from: string, to: string): string {
  let renamed = text;
  // From the end, so that the places before it stay where they are.
  for (const { slug, end } of mentionsInJsonata(text).toSorted((a, b) => b.end - a.end)) {
    if (slug !== from) continue;
    const quoted = /[`"']/.test(text[end - 1] ?? "");
    const start = end - from.length - (quoted ? 2 : 0);
    if (text.slice(start, end).replaceAll(/[`"']/g, "") !== from) continue; // spelled with escapes
    const name = quoted || JSONATA_WORDS.has(to) ? `\`${to}\`` : to;
    renamed = renamed.slice(0, start) + name + renamed.slice(end);
  }
  return renamed;
}

/** Comments and texts are passed over; what comes before `nodes` must not make it another one. */
const IN_JAVASCRIPT =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<![\w$])(?<!(?<!\.\.)\.)nodes\s{0,20}(?:\?\.\s{0,20})?(?:\.?\s{0,20}([A-Za-z_$][\w$]{0,99})|\[\s{0,20}["']([^"'\\\n]{0,100})["']\s{0,20}\])|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;

/** The code has a `nodes` of its own somewhere. */
const OWN_NODES =
  /(?<![\w$.])(?:const|let|var|class|function)\s{1,20}nodes\b|(?<![\w$.])nodes\s{0,20}=[^=]|[{(,]\s{0,20}nodes\s{0,20}(?=[,})])[^;\n]{0,200}?(?:=>|\}\s{0,20}=[^=])/;

function mentionsInJavaScript(code: string): string[] {
  if (OWN_NODES.test(code)) return [];
  return [...code.matchAll(IN_JAVASCRIPT)].flatMap(([, name, quoted]) => {
    const slug = name ?? quoted;
    return slug === undefined || slug in Object.prototype ? [] : [slug];
  });
}
