/** Triggers that were stopped of late, as a flow's warnings tell it. */
import { type Trip, tripInWords } from "../match/breaker.ts";
import type { Finding } from "./finding.ts";
import type { FlowDraft } from "./model.ts";

export interface TrippedNode extends Trip {
  node_id: string;
  at: number;
}

/** A node that the draft no longer has is nothing to warn of. */
export const findTripped = (
  { nodes }: Pick<FlowDraft, "nodes">,
  tripped: readonly TrippedNode[],
): Finding<"breaker_tripped">[] =>
  tripped.flatMap(({ node_id, at, ...trip }) => {
    const node = nodes.find(({ id }) => id === node_id);
    if (!node) return [];
    const time = new Date(at).toISOString().slice(11, 16);
    const message = `Trigger '${node.name}' was stopped at ${time} UTC: ${tripInWords(trip)}`;
    return [{ code: "breaker_tripped", message, nodeId: node_id }];
  });
