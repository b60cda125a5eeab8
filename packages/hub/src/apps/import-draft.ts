/** A flow from elsewhere as a draft that can be stored: nothing is lost, and what changes is told. Pure. */
import { importFlow } from "../flows/import-flow.ts";
import type { FlowDraft, FlowNode } from "../flows/model.ts";
import type { Json } from "../lib/json.ts";
import { severalFaults } from "./finish-draft.ts";
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
  if (imported.outcome === "invalid") throw severalFaults(imported.errors);
  const { flow } = imported;
  const described = flow.nodes.map(describeTool);
  const named = makeWay(
    described.map(({ node }) => node),
    taken,
  );
  return {
    draft: { ...flow, nodes: named.nodes },
    notes: [...imported.notes, ...described.flatMap(({ notes }) => notes), ...named.notes],
  };
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
