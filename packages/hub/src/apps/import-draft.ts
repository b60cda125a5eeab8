/** A flow from elsewhere as a draft that can be stored: nothing is lost, and what changes is told. Pure. */
import { placeOf } from "@signalbox/rules/flows/check-graph.ts";
import type { FlowDraft, FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { importFlow } from "../legacy/import-flow.ts";
import { validationError } from "../lib/request-error.ts";
import { makeWay } from "./tool-names.ts";

export interface ImportedDraft {
  draft: FlowDraft;
  notes: string[];
}

export function importDraft(
  input: Json,
  taken: ReadonlySet<string>,
  newId: () => string,
): ImportedDraft {
  const imported = importFlow(input, { newId, takenTools: taken });
  if (imported.outcome === "invalid") throw validationError(imported.errors);
  const { flow } = imported;
  const described = flow.nodes.map(describeTool);
  const named = makeWay(
    described.map(({ node }) => node),
    taken,
  );
  const edges = flow.edges.filter(isFirst(flow.edges));
  return {
    draft: { ...flow, nodes: named.nodes, edges },
    notes: [
      ...imported.notes,
      ...described.flatMap(({ notes }) => notes),
      ...named.notes,
      ...leftOut(flow, edges),
    ],
  };
}

/** Of several edges that say the same. */
function isFirst(edges: readonly FlowEdge[]): (edge: FlowEdge) => boolean {
  const first = new Map(edges.toReversed().map((edge) => [placeOf(edge), edge]));
  return (edge) => first.get(placeOf(edge)) === edge;
}

function leftOut({ nodes, edges }: FlowDraft, kept: readonly FlowEdge[]): string[] {
  const nameOf = (id: string) => nodes.find((node) => node.id === id)?.name ?? id;
  return edges
    .filter((edge) => !kept.includes(edge))
    .map(
      ({ source, target }) =>
        `edges: ${nameOf(source)} was connected to ${nameOf(target)} twice; once is enough.`,
    );
}

/** A tool must say what it does; here nobody can be asked. */
function describeTool(node: FlowNode): { node: FlowNode; notes: string[] } {
  const { toolDescription: text } = node.parameters;
  if (node.type !== "UserIntent" || (typeof text === "string" && text.trim()))
    return { node, notes: [] };
  return {
    node: { ...node, parameters: { ...node.parameters, toolDescription: node.name } },
    notes: [
      `toolDescription: ${node.name} had ${text === undefined ? "none" : JSON.stringify(text)}; it says ${JSON.stringify(node.name)} now.`,
    ],
  };
}
