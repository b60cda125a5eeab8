/** Assigns a free slug to a node, and updates the references to it. */
import { analyzeExpression } from "@signalbox/rules/flows/analyze-expression.ts";
import { renameNode } from "@signalbox/rules/flows/rename-node.ts";
import { slugFor } from "@signalbox/rules/flows/slug.ts";
import type { FlowNode } from "./graph.ts";
import { registry } from "./node-kinds.ts";

/**
 * Returns `nodes` with another slug for the node `id` if one of `others` has the same slug; otherwise
 * `nodes` itself. The name of the node does not change.
 */
export function withFreeSlug<Nodes extends readonly FlowNode[]>(
  nodes: Nodes,
  id: string,
  others: readonly Pick<FlowNode, "id" | "slug">[],
): Nodes | FlowNode[] {
  const node = nodes.find((each) => each.id === id);
  if (!node || !others.some((other) => other.slug === node.slug && other.id !== id)) return nodes;
  const taken = [...nodes, ...others].filter((each) => each.id !== id).map(({ slug }) => slug);
  const slug = slugFor(node.slug, new Set(taken));
  const renamed = renameNode(
    { nodes: [...nodes] },
    id,
    slug,
    registry,
    new Set(),
    analyzeExpression,
  );
  return (renamed?.flow.nodes ?? [...nodes]).map((each) =>
    each.id === id ? { ...each, name: node.name, slug } : each,
  );
}
