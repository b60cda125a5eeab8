/** The output schemas of the nodes of a flow, as far as they are known before it runs. */
import { isObject, type JsonSchema } from "../json.ts";
import { findTool, type ToolContext } from "./check-tools.ts";
import type { Graph } from "./graph.ts";
import type { FlowEdge, FlowNode } from "./model.ts";
import { ERROR_PORT, type NodeDefinition } from "./node-type.ts";
import { schemaAt } from "./schema-path.ts";
import { splitParameters } from "./split-parameters.ts";

export interface NodeSchemasOptions {
  nodes: readonly FlowNode[];
  graph: Graph<FlowEdge>;
  definition(node: FlowNode): NodeDefinition | undefined;
  tools: ToolContext | undefined;
}

/** The result is cached, since the schema of a node can depend on those of the nodes before it. */
export function createNodeSchemas(
  options: NodeSchemasOptions,
): (node: FlowNode) => JsonSchema | undefined {
  const { nodes, graph, definition, tools } = options;
  const bySlug = new Map(nodes.map((node) => [node.slug, node]));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const known = new Map<string, JsonSchema | undefined>();

  const inputSchema = (node: FlowNode): JsonSchema | undefined => {
    const [edge, another] = graph.incoming(node.id);
    const source = edge && !another ? byId.get(edge.source) : undefined;
    return edge?.sourceHandle === ERROR_PORT || !source || continuesOnError(source)
      ? undefined
      : outputSchema(source);
  };
  const outputSchema = (node: FlowNode): JsonSchema | undefined => {
    if (known.has(node.id)) return known.get(node.id);
    known.set(node.id, undefined); // a draft can have a cycle
    const found = definition(node);
    const { config } = splitParameters(node);
    const uses = (tools && found?.usesTools(config)) ?? [];
    const schema = found?.outputSchema(config, {
      tool: tools && uses.length === 1 ? uses.map((use) => findTool(tools, use))[0] : undefined,
      input: () => inputSchema(node),
      reference({ root, path, optional }) {
        const other = bySlug.get(root);
        const whole = optional || !other ? undefined : outputSchema(other);
        const part = whole && schemaAt(whole, path);
        return part && "schema" in part ? part.schema : undefined;
      },
    });
    known.set(node.id, schema);
    return schema;
  };
  return outputSchema;
}

/** Then its output can also be an error. */
const continuesOnError = (node: FlowNode): boolean => {
  const { settings } = splitParameters(node);
  return isObject(settings) && settings.continueOnError === true;
};
