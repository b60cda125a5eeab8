/** Derives the output schema of a tool from its flow. */
import type { JsonSchema } from "../json.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeRegistry } from "./node-type.ts";
import { type ResolveOptions, resolveFlow } from "./resolved-flow.ts";
import { resultsOf } from "./returns.ts";
import { embedSchema } from "./subschemas.ts";

/**
 * Returns the schema of the results of runs from the trigger. Returns undefined if a run can end
 * without a result, or with a result that is not an object: MCP requires an object.
 */
export function outputSchemaOf(
  flow: Pick<FlowDraft, "nodes" | "edges">,
  trigger: FlowNode,
  registry: NodeRegistry,
  options?: ResolveOptions,
): JsonSchema | undefined {
  const resolved = resolveFlow(flow, registry, options);
  const schemas = resultsOf(resolved, trigger)?.map(resolved.outputSchema);
  if (!schemas?.every((schema) => schema !== undefined && schema.type === "object"))
    return undefined;
  const [first, ...others] = schemas as JsonSchema[];
  if (others.length === 0) return first;
  const anyOf = (schemas as JsonSchema[]).map((schema, index) =>
    embedSchema(schema, `/anyOf/${index}`),
  );
  return { type: "object", anyOf };
}
