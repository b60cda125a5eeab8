/** Derives the output schemas of a flow's nodes, as far as they are known before the flow runs. */
import { isObject, type JsonSchema } from "../json.ts";
import type { Graph } from "./graph.ts";
import type { FlowEdge, FlowNode } from "./model.ts";
import {
  type ConnectionTool,
  type ConnectionTrigger,
  ERROR_PORT,
  type NodeDefinition,
  type ToolUse,
} from "./node-type.ts";
import type { SchemaError } from "./schema-errors.ts";
import { schemaAt } from "./schema-path.ts";
import { splitParameters } from "./split-parameters.ts";
import type { SchemaCheck } from "./validate-schema.ts";

/** A connection with the tools and triggers that its server listed last. */
export interface KnownConnection {
  name: string;
  /** The tools by name; undefined if the connection was never checked successfully. */
  tools: ReadonlyMap<string, ConnectionTool> | undefined;
  /** The triggers by type; undefined if the connection was never checked successfully. */
  triggers: ReadonlyMap<string, ConnectionTrigger> | undefined;
  /** Why the last check failed; null if it succeeded. */
  error: string | null;
}

export interface ToolContext {
  /** The connections that the flow uses, by id. */
  connections: ReadonlyMap<string, KnownConnection>;
  /** The sources of events that are not connections: kinds such as `github`, endpoints, and flows. */
  senders: ReadonlySet<string>;
  /** A validation can take unbounded time, so the caller validates beforehand: see `argumentChecks`. */
  findError(check: SchemaCheck): SchemaError | undefined;
}

export const findTool = (
  { connections }: Pick<ToolContext, "connections">,
  { connection, tool }: ToolUse,
): ConnectionTool | undefined => connections.get(connection)?.tools?.get(tool?.name ?? "");

export interface NodeSchemasOptions {
  nodes: readonly FlowNode[];
  graph: Graph<FlowEdge>;
  definition(node: FlowNode): NodeDefinition | undefined;
  tools: ToolContext | undefined;
}

/**
 * Returns a function that derives the output schema of a node. The function caches schemas, since the
 * schema of a node can depend on the schemas of preceding nodes.
 */
export function createNodeSchemas(
  options: NodeSchemasOptions,
): (node: FlowNode) => JsonSchema | undefined {
  const { nodes, graph, definition, tools } = options;
  const bySlug = new Map(nodes.map((node) => [node.slug, node]));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const cache = new Map<string, JsonSchema | undefined>();

  const inputSchema = (node: FlowNode): JsonSchema | undefined => {
    const [edge, another] = graph.incoming(node.id);
    const source = edge && !another ? byId.get(edge.source) : undefined;
    return edge?.sourceHandle === ERROR_PORT || !source || continuesOnError(source)
      ? undefined
      : outputSchema(source);
  };
  const outputSchema = (node: FlowNode): JsonSchema | undefined => {
    if (cache.has(node.id)) return cache.get(node.id);
    cache.set(node.id, undefined); // prevents endless recursion if the draft has a cycle
    const nodeType = definition(node);
    const { config } = splitParameters(node);
    const uses = (tools && nodeType?.usesTools(config)) ?? [];
    const schema = nodeType?.outputSchema(config, {
      tool: tools && uses.length === 1 ? uses.map((use) => findTool(tools, use))[0] : undefined,
      input: () => inputSchema(node),
      reference({ root, path, optional }) {
        const referenced = bySlug.get(root);
        const output = optional || !referenced ? undefined : outputSchema(referenced);
        const value = output && schemaAt(output, path);
        return value && "schema" in value ? value.schema : undefined;
      },
    });
    cache.set(node.id, schema);
    return schema;
  };
  return outputSchema;
}

/** If true, the output of the node can also be an error. */
const continuesOnError = (node: FlowNode): boolean => {
  const { settings } = splitParameters(node);
  return isObject(settings) && settings.continueOnError === true;
};
