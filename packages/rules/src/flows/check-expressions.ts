/** JSONata in a flow: that each expression can be parsed. */
import { type ErrorCode, type Finding, onNode } from "./finding.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeDefinition, NodeRegistry } from "./node-type.ts";
import type { Subject } from "./subject.ts";

/** Of characters. The schemas of nodes reject longer ones, which are then not analyzed. */
export const EXPRESSION_LENGTH = 20_000;

interface NodeExpression {
  node: FlowNode;
  field: string;
  expression: string;
}

function nodeExpressions(
  nodes: readonly FlowNode[],
  definition: (node: FlowNode) => NodeDefinition | undefined,
): NodeExpression[] {
  return nodes.flatMap((node) => {
    const { language, field } = definition(node)?.code ?? {};
    if (language !== "jsonata" || field === undefined) return [];
    const expression = node.parameters[field];
    return typeof expression === "string" &&
      expression.trim() &&
      expression.length <= EXPRESSION_LENGTH
      ? [{ node, field, expression }]
      : [];
  });
}

/** Every JSONata expression of a flow that needs an analysis. */
export const expressionsIn = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
): string[] =>
  nodeExpressions(nodes, ({ type }) => registry.get(type)).map(({ expression }) => expression);

/** Expressions without an analysis are not checked. */
export const checkExpressions = ({
  flow,
  definition,
  findAnalysis,
}: Subject): Finding<ErrorCode>[] =>
  nodeExpressions(flow.nodes, definition).flatMap(({ node, field, expression }) => {
    const { problem } = findAnalysis(expression) ?? {};
    return problem === undefined
      ? []
      : [onNode("invalid_config", node, `${field}: ${problem}`, field)];
  });
