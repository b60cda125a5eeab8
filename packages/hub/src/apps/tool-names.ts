/** Which tool name each intent of a draft gets, given what the app has. Pure. */

import type { FlowNode } from "@signalbox/rules/flows/model.ts";
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
 * A name follows from its node's, and changes with it. One that somebody wrote is kept as it is, or
 * refused where it is taken; `before` are the nodes as they were. Names in `kept` are known to agents,
 * and lead to a node: as long as that is there, no other gets one of them.
 */
export function nameTools(
  nodes: readonly FlowNode[],
  before: readonly FlowNode[],
  taken: ReadonlySet<string>,
  kept: ReadonlyMap<string, string> = new Map(),
): NamedTools {
  const former = new Map(before.map((node) => [node.id, node]));
  const used = new Set(taken);
  const names = new Map<string, string>();
  const intents = nodes.filter(isIntent);
  const byId = new Map(intents.map((node) => [node.id, node]));
  /** Whose name it is to agents, where that is another's. */
  const knownAs = (name: string, { id }: FlowNode): FlowNode | undefined => {
    const owner = kept.get(name);
    return owner === undefined || owner === id ? undefined : byId.get(owner);
  };

  // Names that were written come first: those that are derived give way.
  for (const node of intents) {
    const written = writtenName(node, former.get(node.id));
    if (written === undefined) continue;
    const { name, isNew } = written;
    const rule = isNew ? checkToolName(name) : undefined;
    if (rule) throw new RequestError("invalid", "toolName", rule);
    const other = isNew ? knownAs(name, node) : undefined;
    if (other)
      throw new RequestError(
        "conflict",
        "toolName",
        `Tool name '${name}' still leads to ${other.name}, for those who know it by that name`,
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
  for (const node of intents) {
    if (names.has(node.id)) continue;
    const name = uniqueToolName(toolName(node.name), {
      has: (one) => used.has(one) || knownAs(one, node) !== undefined,
    });
    used.add(name);
    names.set(node.id, name);
  }
  return {
    nodes: nodes.map((node) => {
      const name = names.get(node.id);
      return name === undefined ? node : withTool(node, name);
    }),
    toolNames: [...names].map(([node_id, name]) => ({ name, node_id })),
  };
}

/** For flows that come from elsewhere: names are kept as they are, but those that are taken make way. */
export function makeWay(
  nodes: readonly FlowNode[],
  taken: ReadonlySet<string>,
): { nodes: FlowNode[]; notes: string[] } {
  const used = new Set(taken);
  const notes: string[] = [];
  const kept = nodes.map((node) => {
    const given = node.parameters.toolName;
    if (!isIntent(node) || typeof given !== "string" || !given) return node;
    const name = uniqueToolName(given, used);
    used.add(name);
    if (name === given) return node;
    notes.push(`toolName: ${given} is another tool's in this app; this one is now ${name}.`);
    return withTool(node, name);
  });
  return { nodes: kept, notes };
}

const isIntent = ({ type }: FlowNode): boolean => type === "UserIntent";

const withTool = (node: FlowNode, name: string): FlowNode =>
  node.parameters.toolName === name
    ? node
    : { ...node, parameters: { ...node.parameters, toolName: name } };

/** Undefined where the name is to be derived: there is none, or the node was renamed since. */
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
