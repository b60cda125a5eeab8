/**
 * Changes one node of a draft. A new name of the node also changes its tool name, and every reference to
 * the node. Pure.
 */
import type { FlowDraft, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { renameNode } from "@signalbox/rules/flows/rename-node.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { RequireAnalysis } from "./flow-analysis.ts";

interface NodeEdit {
  id: string;
  /** The new name. */
  name: string | undefined;
  change: (node: FlowNode) => FlowNode;
}

interface EditContext {
  tenant: string;
  registry: NodeRegistry;
  /** The names of the app's other tools. */
  takenNames: ReadonlySet<string>;
  requireAnalysis: RequireAnalysis;
}

export function changeNode(
  draft: FlowDraft,
  { id, name, change }: NodeEdit,
  { tenant, registry, takenNames, requireAnalysis }: EditContext,
): FlowDraft {
  const node = requireNode(draft, id);
  const changed = change(node);
  const withChange = replaceNode(draft, id, () => changed);
  if (name === undefined || name === node.name) return withChange;
  const { findAnalysis } = requireAnalysis(tenant, withChange);
  const renamed =
    renameNode(withChange, id, name, registry, takenNames, findAnalysis)?.flow ?? withChange;
  if (!registry.get(changed.type)?.isTool) return renamed;
  // A tool name in the same change is kept. Otherwise it is "", so that it is derived from the new name.
  const { toolName = "" } = changed.parameters;
  const newToolName = toolName === node.parameters.toolName ? "" : toolName;
  return replaceNode(renamed, id, (renamedNode) => ({
    ...renamedNode,
    parameters: { ...renamedNode.parameters, toolName: newToolName },
  }));
}

export function requireNode({ nodes }: FlowDraft, nodeId: string): FlowNode {
  const node = nodes.find(({ id }) => id === nodeId);
  if (!node) throw new RequestError("not_found", "node", `The flow has no node ${nodeId}.`);
  return node;
}

const replaceNode = (
  draft: FlowDraft,
  nodeId: string,
  replace: (node: FlowNode) => FlowNode,
): FlowDraft => ({
  ...draft,
  nodes: draft.nodes.map((node) => (node.id === nodeId ? replace(node) : node)),
});
