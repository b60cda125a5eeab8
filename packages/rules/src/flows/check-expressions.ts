/** Checks that the JSONata expressions of a flow can be parsed. */
import { type ErrorCode, type Finding, onNode } from "./finding.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeDefinition, NodeRegistry } from "./node-type.ts";
import type { ResolvedFlow } from "./resolved-flow.ts";

/** The maximum length. Longer expressions are not analyzed, since the schemas of nodes reject them. */
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

/** The JSONata expressions of a flow that must be analyzed before `checkExpressions`. */
export const expressionsIn = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
): string[] =>
  nodeExpressions(nodes, ({ type }) => registry.get(type)).map(({ expression }) => expression);

/** Skips expressions without an analysis. */
export const checkExpressions = ({
  flow,
  definition,
  findAnalysis,
}: ResolvedFlow): Finding<ErrorCode>[] =>
  nodeExpressions(flow.nodes, definition).flatMap(({ node, field, expression }) => {
    const { problem } = findAnalysis(expression) ?? {};
    return problem === undefined
      ? []
      : [onNode("invalid_config", node, `${field}: ${problem}`, field)];
  });
