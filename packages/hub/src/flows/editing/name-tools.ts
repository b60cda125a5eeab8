/** Assigns a tool name to each trigger of a draft that is a tool. Pure. */
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { toolNameOf, withToolName } from "@signalbox/rules/flows/tool-fields.ts";
import {
  checkToolName,
  TOOL_NAME_RULE,
  toolName,
  uniqueToolName,
} from "@signalbox/rules/flows/tool-name.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";

export interface NamedTools {
  nodes: FlowNode[];
  toolNames: { name: string; node_id: string }[];
}

/**
 * A tool name is derived from the node's name and changes with it. If the author has set the tool name,
 * it is kept instead, or rejected if the app already has it. `before` are the nodes before the edit.
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
