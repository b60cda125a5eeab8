/** Turns an imported flow into a draft that can be stored. Notes report every change. Pure. */
import { edgeKey } from "@signalbox/rules/flows/check-graph.ts";
import type { FlowDraft, FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { toolDescriptionOf } from "@signalbox/rules/flows/tool-fields.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { validationError } from "../../kernel/lib/request-error.ts";
import { renameTakenTools } from "../editing/edit-draft.ts";
import { type ImportOptions, importFlow } from "./import-flow.ts";

export interface ImportedDraft {
  draft: FlowDraft;
  notes: string[];
}

export function importDraft(
  input: Json,
  registry: NodeRegistry,
  takenNames: ReadonlySet<string>,
  newId: () => string,
  legacy: Pick<ImportOptions, "triggerOf" | "hasLegacyNodes"> = {},
): ImportedDraft {
  const imported = importFlow(input, { newId, takenTools: takenNames, ...legacy });
  if (imported.outcome === "invalid") throw validationError(imported.errors);
  const { flow } = imported;
  const described = flow.nodes.map((node) => describeTool(node, registry));
  const named = renameTakenTools(
    described.map(({ node }) => node),
    registry,
    takenNames,
  );
  const edges = withoutDuplicates(flow.edges);
  return {
    draft: { ...flow, nodes: named.nodes, edges },
    notes: [
      ...imported.notes,
      ...described.flatMap(({ notes }) => notes),
      ...named.notes,
      ...describeRemovedEdges(flow, edges),
    ],
  };
}

/** Keeps the first of several equal edges. */
function withoutDuplicates(edges: readonly FlowEdge[]): FlowEdge[] {
  const firstByKey = new Map(edges.toReversed().map((edge) => [edgeKey(edge), edge]));
  return edges.filter((edge) => firstByKey.get(edgeKey(edge)) === edge);
}

function describeRemovedEdges({ nodes, edges }: FlowDraft, kept: readonly FlowEdge[]): string[] {
  const nameOf = (id: string) => nodes.find((node) => node.id === id)?.name ?? id;
  return edges
    .filter((edge) => !kept.includes(edge))
    .map(
      ({ source, target }) =>
        `edges: ${nameOf(source)} was connected to ${nameOf(target)} twice; the second edge is removed.`,
    );
}

/** A tool needs a description: the node's name replaces a missing one. */
function describeTool(node: FlowNode, registry: NodeRegistry): { node: FlowNode; notes: string[] } {
  if (!registry.get(node.type)?.isTool || toolDescriptionOf(node).trim())
    return { node, notes: [] };
  const { toolDescription: oldText } = node.parameters;
  return {
    node: { ...node, parameters: { ...node.parameters, toolDescription: node.name } },
    notes: [
      `toolDescription: the tool ${JSON.stringify(node.name)} had ${oldText === undefined ? "no description" : `the description ${JSON.stringify(oldText)}`}; its name is used instead.`,
    ],
  };
}
