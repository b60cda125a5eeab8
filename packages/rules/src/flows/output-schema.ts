/** What a tool gives back, as far as it is known before it runs. */
import type { JsonSchema } from "../json.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeRegistry } from "./node-type.ts";
import { resultsOf } from "./returns.ts";
import { partsOf, subjectOf } from "./subject.ts";

/**
 * The schema of the results that a trigger's ways lead to. Undefined where a run may end otherwise,
 * or where a result is not known to be an object: MCP wants nothing else of a tool.
 */
export function outputSchemaOf(
  flow: Pick<FlowDraft, "nodes" | "edges">,
  trigger: FlowNode,
  registry: NodeRegistry,
): JsonSchema | undefined {
  const subject = subjectOf(flow, registry);
  const schemas = resultsOf(subject, trigger)?.map((node) =>
    subject.definition(node)?.outputSchema(partsOf(node).config),
  );
  if (!schemas?.every((schema) => schema !== undefined && schema.type === "object"))
    return undefined;
  const [first, ...others] = schemas as JsonSchema[];
  return others.length === 0 ? first : { type: "object", anyOf: schemas as JsonSchema[] };
}
