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
import { RequestError } from "../lib/request-error.ts";

export interface NamedTools {
  nodes: FlowNode[];
  toolNames: { name: string; node_id: string }[];
}

/**
 * A name is derived from the node's name and changes with it, unless the author wrote it: then it is
 * kept, or rejected if the app already has it. `before` are the nodes before the edit. `callable` maps
 * the names that agents know to node ids: while that node exists, no other node gets the name.
 */
export function nameTools(
  nodes: readonly FlowNode[],
  before: readonly FlowNode[],
  registry: NodeRegistry,
  taken: ReadonlySet<string>,
  callable: ReadonlyMap<string, string> = new Map(),
): NamedTools {
  const former = new Map(before.map((node) => [node.id, node]));
  const used = new Set(taken);
  const names = new Map<string, string>();
  const tools = nodes.filter(({ type }) => registry.get(type)?.isTool);
  const byId = new Map(tools.map((node) => [node.id, node]));
  /** The other node that agents know by this name. */
  const otherOwner = (name: string, { id }: FlowNode): FlowNode | undefined => {
    const owner = callable.get(name);
    return owner === undefined || owner === id ? undefined : byId.get(owner);
  };

  // Written names come first: derived names avoid them.
  for (const node of tools) {
    const written = writtenName(node, former.get(node.id));
    if (written === undefined) continue;
    const { name, isNew } = written;
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
      has: (one) => used.has(one) || otherOwner(one, node) !== undefined,
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
  taken: ReadonlySet<string>,
): { nodes: FlowNode[]; notes: string[] } {
  const used = new Set(taken);
  const notes: string[] = [];
  const kept = nodes.map((node) => {
    const given = registry.get(node.type)?.isTool ? toolNameOf(node) : undefined;
    if (given === undefined) return node;
    const name = uniqueToolName(given, used);
    used.add(name);
    if (name === given) return node;
    notes.push(`toolName: the app already has a tool ${given}; this one is now ${name}.`);
    return withToolName(node, name);
  });
  return { nodes: kept, notes };
}

/** Undefined if the name is to be derived: there is none, or the node has been renamed. */
function writtenName(
  { name, parameters }: FlowNode,
  former: FlowNode | undefined,
): { name: string; isNew: boolean } | undefined {
  const had = former?.parameters.toolName;
  const given = parameters.toolName ?? (former?.name === name ? had : undefined);
  if (given === undefined || given === null || given === "") return undefined;
  if (typeof given !== "string") throw new RequestError("invalid", "toolName", TOOL_NAME_RULE);
  if (had !== given) return { name: given, isNew: true };
  return former?.name === name ? { name: given, isNew: false } : undefined;
}
