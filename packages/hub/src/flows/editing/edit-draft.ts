/** Edits drafts: changes a node, names tools, and prepares a draft for the store. Pure. */
import { missingEnds } from "@signalbox/rules/flows/check-graph.ts";
import type { Finding } from "@signalbox/rules/flows/finding.ts";
import { findCycles, graphOf } from "@signalbox/rules/flows/graph.ts";
import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import { type FlowDraft, type FlowNode, flowDraftSchema } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { renameNode } from "@signalbox/rules/flows/rename-node.ts";
import { toolDescriptionOf, toolNameOf, withToolName } from "@signalbox/rules/flows/tool-fields.ts";
import {
  checkToolName,
  TOOL_NAME_RULE,
  toolName,
  uniqueToolName,
} from "@signalbox/rules/flows/tool-name.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { RequestError, validationError } from "../../kernel/lib/request-error.ts";
import type { EditFlow, FlowGraph } from "../model.ts";
import type { RequireAnalysis } from "./flow-analysis.ts";

/**
 * Prepares a draft for the store: names its tools, and rejects drafts with problems that later edits
 * could not repair, such as cycles and duplicate ids, or with secrets in plain text. An unfinished draft
 * is accepted. `before` are the nodes before the edit, `takenNames` the names of the app's other tools,
 * `callable` the names by which agents can call this flow's tools.
 */
export function finishDraft(
  draft: unknown,
  before: readonly FlowNode[],
  takenNames: ReadonlySet<string>,
  registry: NodeRegistry,
  callable?: ReadonlyMap<string, string>,
): ReturnType<EditFlow> {
  const parsed = flowDraftSchema.safeParse(draft);
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  const { name, description, nodes, edges } = parsed.data satisfies FlowDraft;
  checkShape({ nodes, edges }, registry);
  const named = nameTools(nodes, before, registry, takenNames, callable);
  checkDescriptions(named.nodes, registry);
  return {
    name,
    description,
    graph: { nodes: named.nodes, edges },
    toolNames: named.toolNames,
  };
}

const NEVER_STORED: ReadonlySet<string> = new Set([
  "duplicate_id",
  "duplicate_slug",
  "duplicate_edge",
  "missing_node",
  "plain_secret",
]);

function checkShape(graph: FlowGraph, registry: NodeRegistry): void {
  const [cycle] = findCycles(graphOf(graph));
  if (cycle) {
    const names = [...cycle, cycle[0] as string].map(
      (id) => graph.nodes.find((node) => node.id === id)?.name ?? id,
    );
    throw new RequestError("invalid", "edges", `Cycle: ${names.join(" → ")}`);
  }
  const error = validateFlow(graph, registry).errors.find(({ code }) => NEVER_STORED.has(code));
  if (error) throw new RequestError("invalid", fieldOf(error, graph), error.message);
}

/** An edge is named by its index, because the caller may not know its id, which the hub can generate. */
function fieldOf({ nodeId, path, edgeId, code }: Finding, { nodes, edges }: FlowGraph): string {
  if (nodeId !== undefined) return path === undefined ? nodeId : `${nodeId}.${path}`;
  const index = edges.findIndex(({ id }) => id === edgeId);
  const edge = edges[index];
  if (!edge) return "flow";
  const [missing] = code === "missing_node" ? missingEnds(edge, nodes) : [];
  return `edges[${index}]${missing ? `.${missing.end}` : ""}`;
}

function checkDescriptions(nodes: readonly FlowNode[], registry: NodeRegistry): void {
  for (const node of nodes) {
    if (registry.get(node.type)?.isTool && !toolDescriptionOf(node).trim())
      throw new RequestError(
        "invalid",
        "toolDescription",
        `${node.name}: must not be empty: agents choose a tool by its description`,
      );
  }
}

interface NamedTools {
  nodes: FlowNode[];
  toolNames: { name: string; node_id: string }[];
}

/**
 * Assigns a tool name to each trigger of a draft that is a tool. The name is derived from the node's name and
 * changes with it. If the author has set the tool name, it is kept instead, or rejected if the app already has it. `before` are the nodes before the edit.
 * `callable` maps the names that agents can call to node ids: while such a node exists, no other node
 * gets its name.
 */
export function nameTools(
  nodes: readonly FlowNode[],
  before: readonly FlowNode[],
  registry: NodeRegistry,
  takenNames: ReadonlySet<string>,
  callable: ReadonlyMap<string, string> = new Map(),
): NamedTools {
  const nodesBefore = new Map(before.map((node) => [node.id, node]));
  const used = new Set(takenNames);
  const names = new Map<string, string>();
  const tools = nodes.filter(({ type }) => registry.get(type)?.isTool);
  const byId = new Map(tools.map((node) => [node.id, node]));
  /** The other node that agents call by this name. */
  const otherOwner = (name: string, { id }: FlowNode): FlowNode | undefined => {
    const owner = callable.get(name);
    return owner === undefined || owner === id ? undefined : byId.get(owner);
  };

  // Names that the author has set come first, so that derived names differ from them.
  for (const node of tools) {
    const authorName = authorNameOf(node, nodesBefore.get(node.id));
    if (authorName === undefined) continue;
    const { name, isNew } = authorName;
    const rule = isNew ? checkToolName(name) : undefined;
    if (rule) throw new RequestError("invalid", "toolName", rule);
    const other = isNew ? otherOwner(name, node) : undefined;
    if (other)
      throw new RequestError(
        "conflict",
        "toolName",
        `Tool name '${name}' is still an alias of ${other.name}`,
      );
    if (used.has(name))
      throw new RequestError(
        "conflict",
        "toolName",
        `Tool name '${name}' already exists in this app`,
      );
    used.add(name);
    names.set(node.id, name);
  }
  for (const node of tools) {
    if (names.has(node.id)) continue;
    const name = uniqueToolName(toolName(node.name), {
      has: (candidate) => used.has(candidate) || otherOwner(candidate, node) !== undefined,
    });
    used.add(name);
    names.set(node.id, name);
  }
  return {
    nodes: nodes.map((node) => {
      const name = names.get(node.id);
      return name === undefined ? node : withToolName(node, name);
    }),
    toolNames: [...names].map(([node_id, name]) => ({ name, node_id })),
  };
}

/** For imported flows: keeps their names, but renames those that the app already has. */
export function renameTakenTools(
  nodes: readonly FlowNode[],
  registry: NodeRegistry,
  takenNames: ReadonlySet<string>,
): { nodes: FlowNode[]; notes: string[] } {
  const used = new Set(takenNames);
  const notes: string[] = [];
  const renamed = nodes.map((node) => {
    const importedName = registry.get(node.type)?.isTool ? toolNameOf(node) : undefined;
    if (importedName === undefined) return node;
    const name = uniqueToolName(importedName, used);
    used.add(name);
    if (name === importedName) return node;
    notes.push(`toolName: the app already has a tool ${importedName}; this one is now ${name}.`);
    return withToolName(node, name);
  });
  return { nodes: renamed, notes };
}

/** Undefined if the tool name must be derived: there is none, or the node has been renamed. */
function authorNameOf(
  { name, parameters }: FlowNode,
  before: FlowNode | undefined,
): { name: string; isNew: boolean } | undefined {
  const nameBefore = before?.parameters.toolName;
  const hasSameName = before?.name === name;
  const authorName = parameters.toolName ?? (hasSameName ? nameBefore : undefined);
  if (authorName === undefined || authorName === null || authorName === "") return undefined;
  if (typeof authorName !== "string") throw new RequestError("invalid", "toolName", TOOL_NAME_RULE);
  if (nameBefore !== authorName) return { name: authorName, isNew: true };
  return hasSameName ? { name: authorName, isNew: false } : undefined;
}

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

/**
 * Changes one node of a draft. A new name of the node also changes its tool name, and every reference to
 * the node.
 */
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
