/** Serializes nodes and the edges between them for the clipboard, to paste them into the same or another flow. */
import { edgeSchema, nodeSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import type { Graph } from "./graph.ts";

const clipSchema = z.object({
  signalbox: z.literal("nodes"),
  nodes: z.array(nodeSchema).min(1),
  edges: z.array(edgeSchema),
});
export type Clip = Pick<z.output<typeof clipSchema>, "nodes" | "edges">;

export function copyNodes(graph: Graph, ids: ReadonlySet<string>): string | undefined {
  const nodes = graph.nodes.filter(({ id }) => ids.has(id));
  if (nodes.length === 0) return undefined;
  const edges = graph.edges.filter(({ source, target }) => ids.has(source) && ids.has(target));
  return JSON.stringify({ signalbox: "nodes", nodes, edges }, null, 2);
}

/** Returns undefined if the text does not contain copied nodes. */
export function readClip(text: string): Clip | undefined {
  if (!text.includes('"signalbox"')) return undefined;
  try {
    return clipSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
