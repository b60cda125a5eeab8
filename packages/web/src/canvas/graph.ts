/** The part of a flow that the canvas edits. */
import type { FlowDraft, FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";

export type { FlowEdge, FlowNode };
export type Graph = Pick<FlowDraft, "name" | "description" | "nodes" | "edges">;

export interface Point {
  x: number;
  y: number;
}

/** An output or an input of a node. */
export interface Port {
  /** The id of the node. */
  node: string;
  /** The name of the port, such as `out`. */
  port: string;
}

/** Removes the properties of a flow that are not part of the graph. */
export const toGraph = ({ name, description, nodes, edges }: Graph): Graph => ({
  name,
  description,
  nodes,
  edges,
});

/** Returns the same key for two edges between the same ports. */
export const edgeKey = ({ source, sourceHandle, target, targetHandle }: FlowEdge): string =>
  JSON.stringify([source, sourceHandle, target, targetHandle]);
