/**
 * Finds the nodes whose outputs a node can read: by templates in its config, and by `nodes` in its code.
 * Code is not parsed: if it may read other nodes than those that it names, the result is `all`.
 */
import type { FlowNode } from "./model.ts";
import type { NodeDefinition } from "./node-type.ts";
import { referencesIn } from "./references.ts";
import { splitParameters } from "./split-parameters.ts";

export type ReferencedNodes = ReadonlySet<string> | "all";

/** `nodes.slug`, and `nodes["slug"]` or, in JSONata, nodes.`slug`. */
const NAMED_NODE =
  /(?<![\w$])nodes\s*(?:\.\s*(?:([A-Za-z_]\w*)|`([^`\\]*)`)|\[\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\])/g;

/** Constructs with which code can read a variable without its name. */
const INDIRECT = {
  javascript: /\\|\b(?:globalThis|eval|Function|this|arguments|constructor)\b/,
  jsonata:
    /\\|\*|%|\$(?![A-Za-z])|\$(?:eval|lookup|each|keys|spread|sift|merge|map|filter|string)\b/,
};

/** Whether code may read the variable `name`. */
export const mayRead = (name: string, code: string, language: keyof typeof INDIRECT): boolean =>
  code.includes(name) || INDIRECT[language].test(code);

export function referencedNodes(
  node: Pick<FlowNode, "parameters">,
  definition: Pick<NodeDefinition, "code"> | undefined,
): ReferencedNodes {
  const slugs = new Set(referencesIn(splitParameters(node).config).map(({ root }) => root));
  if (!definition?.code) return slugs;
  const { field, language } = definition.code;
  const code = node.parameters[field];
  if (typeof code !== "string") return "all";
  if (INDIRECT[language].test(code)) return "all";
  const matches = [...code.matchAll(NAMED_NODE)];
  if (matches.length !== (code.match(/nodes/g) ?? []).length) return "all";
  for (const [, ...names] of matches) slugs.add(names.find((name) => name !== undefined) ?? "");
  return slugs;
}
