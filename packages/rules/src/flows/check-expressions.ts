/** Checks that the JSONata and the JavaScript of a flow can be parsed. */
import { type ErrorCode, type Finding, fieldFinding } from "./finding.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeDefinition, NodeRegistry } from "./node-type.ts";
import type { ResolvedFlow } from "./resolved-flow.ts";

/** Longer programs are not parsed, because the schemas of nodes reject them. */
export const MAX_EXPRESSION_LENGTH = 20_000;
export const MAX_CODE_LENGTH = 100_000;
const MAX_LENGTH = { jsonata: MAX_EXPRESSION_LENGTH, javascript: MAX_CODE_LENGTH };

type Language = keyof typeof MAX_LENGTH;

/** Returns the syntax error of JavaScript; undefined if there is none, or the code was not parsed. */
export type FindSyntaxError = (code: string) => string | undefined;

interface NodeProgram {
  node: FlowNode;
  field: string;
  language: Language;
  text: string;
}

function nodePrograms(
  nodes: readonly FlowNode[],
  definition: (node: FlowNode) => NodeDefinition | undefined,
): NodeProgram[] {
  return nodes.flatMap((node) => {
    const { code } = definition(node) ?? {};
    if (!code) return [];
    const text = node.parameters[code.field];
    return typeof text === "string" && text.trim() && text.length <= MAX_LENGTH[code.language]
      ? [{ node, ...code, text }]
      : [];
  });
}

/** Returns the programs of a flow in one language. The caller parses them before `checkExpressions`. */
export const programsIn = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
  language: Language,
): string[] =>
  nodePrograms(nodes, ({ type }) => registry.get(type)).flatMap((program) =>
    program.language === language ? [program.text] : [],
  );

/** Skips programs that were not parsed. */
export const checkExpressions = (
  { flow, definition, findAnalysis }: ResolvedFlow,
  findSyntaxError: FindSyntaxError,
): Finding<ErrorCode>[] =>
  nodePrograms(flow.nodes, definition).flatMap(({ node, field, language, text }) => {
    const problem = language === "jsonata" ? findAnalysis(text)?.problem : findSyntaxError(text);
    return problem === undefined ? [] : [fieldFinding("invalid_config", node, field, problem)];
  });
