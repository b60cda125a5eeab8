/** Gives a node another slug if its own is taken, and updates the references to it. Its name stays. */
import { analyzeExpression } from "@signalbox/rules/flows/analyze-expression.ts";
import { renameNode } from "@signalbox/rules/flows/rename-node.ts";
import { slugFor } from "@signalbox/rules/flows/slug.ts";
import type { FlowNode } from "./graph.ts";
import { registry } from "./node-kinds.ts";

/** Returns `nodes` itself if none of `others` has the slug. */
export function withFreeSlug<Nodes extends readonly FlowNode[]>(
  nodes: Nodes,
  id: string,
  others: readonly Pick<FlowNode, "id" | "slug">[],
): Nodes | FlowNode[] {
  const node = nodes.find((one) => one.id === id);
  if (!node || !others.some((other) => other.slug === node.slug && other.id !== id)) return nodes;
  const taken = [...nodes, ...others].filter((one) => one.id !== id).map(({ slug }) => slug);
  const slug = slugFor(node.slug, new Set(taken));
  const renamed = renameNode(
    { nodes: [...nodes] },
    id,
    slug,
    registry,
    new Set(),
    analyzeExpression,
  );
  return (renamed?.flow.nodes ?? [...nodes]).map((one) =>
    one.id === id ? { ...one, name: node.name, slug } : one,
  );
}
