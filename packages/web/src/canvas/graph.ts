/** The part of a flow that the canvas edits. */
import type { FlowDraft, FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";

export type { FlowEdge, FlowNode };
export type Graph = Pick<FlowDraft, "name" | "description" | "nodes" | "edges">;

export interface Point {
  x: number;
  y: number;
}

/** An output of a node, from which an edge starts. */
export interface Port {
  node: string;
  port: string;
}

export const toGraph = ({ name, description, nodes, edges }: Graph): Graph => ({
  name,
  description,
  nodes,
  edges,
});

/** The same for two edges that join the same ports. */
export const ends = ({ source, sourceHandle, target, targetHandle }: FlowEdge): string =>
  JSON.stringify([source, sourceHandle, target, targetHandle]);
