/** Renames a node, and updates its slug, its tool name and the references to it. */
import type { JsonObject } from "../json.ts";
import type { FindAnalysis } from "./analyze-expression.ts";
import { renameInCode } from "./code-references.ts";
import type { FlowDraft } from "./model.ts";
import type { NodeRegistry } from "./node-type.ts";
import { renameReferences } from "./references.ts";
import { skipRawFields } from "./resolved-flow.ts";
import { slugFor } from "./slug.ts";
import { toolNameOf, withToolName } from "./tool-fields.ts";
import { toolName, uniqueToolName } from "./tool-name.ts";

export interface RenameResult<Flow> {
  flow: Flow;
  slug: { from: string; to: string };
  /** Set if the tool name changes. The old name remains an alias for a limited time. */
  tool?: { from: string; to: string };
}

/**
 * Rewrites references in templates and JSONata, but not in JavaScript: `validateFlow` warns of code
 * with the old slug. `takenTools` contains the names of the app's other tools. Returns undefined if the
 * node does not exist.
 */
export function renameNode<Flow extends Pick<FlowDraft, "nodes">>(
  flow: Flow,
  nodeId: string,
  name: string,
  registry: NodeRegistry,
  takenTools: { has(name: string): boolean },
  findAnalysis: FindAnalysis,
): RenameResult<Flow> | undefined {
  const node = flow.nodes.find(({ id }) => id === nodeId);
  if (!node) return undefined;
  const otherSlugs = new Set(flow.nodes.filter(({ id }) => id !== nodeId).map(({ slug }) => slug));
  const slug = { from: node.slug, to: slugFor(name, otherSlugs) };
  const oldTool = registry.get(node.type)?.isTool ? toolNameOf(node) : undefined;
  const newTool = uniqueToolName(toolName(name), takenTools);
  const tool =
    oldTool === undefined || oldTool === newTool ? undefined : { from: oldTool, to: newTool };
  const nodes = flow.nodes.map((old) => {
    const definition = registry.get(old.type);
    const skip = skipRawFields(definition);
    const rewritten = renameReferences(old.parameters, slug.from, slug.to, skip) as JsonObject;
    const parameters = renameInCode(definition, rewritten, slug, findAnalysis);
    if (old.id !== nodeId) return parameters === old.parameters ? old : { ...old, parameters };
    const renamed = { ...old, name, slug: slug.to, parameters };
    return tool ? withToolName(renamed, tool.to) : renamed;
  });
  return {
    flow: { ...flow, nodes },
    slug,
    ...(tool && { tool }),
  };
}
