/** Warns of triggers that the breaker stopped recently. */
import { type Trip, tripMessage } from "../match/breaker.ts";
import type { Finding } from "./finding.ts";
import type { FlowDraft } from "./model.ts";

export interface TrippedNode extends Trip {
  node_id: string;
  at: number;
}

/** Ignores nodes that were deleted from the draft. */
export const findTripped = (
  { nodes }: Pick<FlowDraft, "nodes">,
  tripped: readonly TrippedNode[],
): Finding<"breaker_tripped">[] =>
  tripped.flatMap(({ node_id, at, ...trip }) => {
    const node = nodes.find(({ id }) => id === node_id);
    if (!node) return [];
    const time = new Date(at).toISOString().slice(11, 16);
    const message = `Trigger '${node.name}' was stopped at ${time} UTC: ${tripMessage(trip)}`;
    return [{ code: "breaker_tripped", message, nodeId: node_id }];
  });
