/**
 * A legacy flow is one tool: `toolName`, `toolDescription`, `parameters` and `isActive` are fields of
 * the flow. They move to the flow's first UserIntent trigger, or to a new one. Accepts any JSON
 * object. A flow in the current format is returned unchanged, and so is one whose nodes or edges are
 * not arrays, which no import accepts. Notes report every change, and every
 * value that is dropped.
 */

import { slugFor } from "@signalbox/rules/flows/slug.ts";
import { checkToolName, toolName, uniqueToolName } from "@signalbox/rules/flows/tool-name.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { isActiveValue } from "./is-active.ts";

export interface Migrated {
  flow: JsonObject;
  changed: boolean;
  /** One message for each change or problem. */
  notes: string[];
}

const LEGACY_FIELDS = ["toolName", "toolDescription", "parameters", "isActive"] as const;
/** Rows of a later version of the legacy system have only `isActive`: their triggers are the tools. */
const TOOL_FIELDS = ["toolName", "toolDescription", "parameters"] as const;
const TRIGGERS: readonly Json[] = ["UserIntent", "Event", "Schedule"];

/** Whether the flow has fields of a tool. */
export const isLegacyTool = (flow: JsonObject): boolean =>
  LEGACY_FIELDS.some((field) => Object.hasOwn(flow, field));

/** Migrates the flows of one app together: tool names are unique in it, and existing names stay. */
export function migrateApp(flows: readonly JsonObject[], newId: () => string): Migrated[] {
  const taken = new Set(flows.filter((flow) => !isLegacyTool(flow)).flatMap(toolNamesOf));
  return flows.map((flow) => {
    const migrated = migrateTools(flow, newId, taken);
    for (const name of toolNamesOf(migrated.flow)) taken.add(name);
    return migrated;
  });
}

export function migrateTools(
  flow: JsonObject,
  newId: () => string,
  taken: { has(name: string): boolean } = new Set<string>(),
): Migrated {
  const { nodes = [] } = flow;
  if (!isLegacyTool(flow) || !Array.isArray(nodes) || !hasEdgeLists(flow))
    return { flow, changed: false, notes: [] };
  const notes: string[] = [];
  const assigned = new Set<string>();
  const nextName = (name: string) => {
    const free = uniqueToolName(name, { has: (one) => assigned.has(one) || taken.has(one) });
    assigned.add(free);
    return free;
  };
  const at = nodes.findIndex((node) => isObject(node) && node.type === "UserIntent");
  const first = (at === -1 ? undefined : nodes[at]) as JsonObject | undefined;
  const rest = Object.fromEntries(
    Object.entries(flow).filter(([name]) => !LEGACY_FIELDS.some((field) => field === name)),
  );
  if (!first && !TOOL_FIELDS.some((field) => Object.hasOwn(flow, field)))
    return { flow: rest, changed: true, notes: [...notes, ...oddActive(flow.isActive)] };
  const tool = toolOf(flow, first, nextName, notes);
  if (!first)
    return { flow: withNewTrigger(rest, nodes, tool, newId, notes), changed: true, notes };

  const migrated = nodes.map((node, nth) => {
    if (nth === at) return { ...first, parameters: { ...parametersOf(first), ...tool } };
    if (!isObject(node) || node.type !== "UserIntent") return node;
    const other = nameOther(node, nextName, notes);
    return isActiveValue(flow.isActive) ? other : withoutTool(other, notes);
  });
  return { flow: { ...rest, nodes: migrated }, changed: true, notes };
}

/**
 * The trigger's parameters. If flow and trigger differ, the flow's values win: clients know them. The
 * tool is active only if both were.
 */
function toolOf(
  flow: JsonObject,
  trigger: JsonObject | undefined,
  nextName: (name: string) => string,
  notes: string[],
): JsonObject {
  const existing = trigger ? parametersOf(trigger) : {};
  const isActive = isActiveValue(flow.isActive);
  for (const field of isActive ? TOOL_FIELDS : LEGACY_FIELDS)
    if (isGiven(flow[field]) && isGiven(existing[field]) && !equal(flow[field], existing[field]))
      notes.push(
        `${field}: the trigger had ${JSON.stringify(existing[field])}; the flow's ${JSON.stringify(flow[field])} replaces it.`,
      );
  const given = (field: (typeof LEGACY_FIELDS)[number]): Json | undefined =>
    isGiven(flow[field]) ? flow[field] : existing[field];
  const title = textOf(trigger?.name) ?? textOf(flow.name) ?? "";
  notes.push(...oddActive(flow.isActive), ...oddActive(existing.isActive));
  return {
    toolName: nameOf(given("toolName"), title, nextName, notes),
    toolDescription: descriptionOf(given("toolDescription"), flow, title, notes),
    parameters: listOf(given("parameters"), notes),
    isActive: isActive && isActiveValue(existing.isActive),
    whenToUse: existing.whenToUse ?? "",
    whenNotToUse: existing.whenNotToUse ?? "",
  };
}

function nameOf(
  given: Json | undefined,
  title: string,
  nextName: (name: string) => string,
  notes: string[],
): string {
  const name = textOf(given);
  if (name === undefined) {
    const derived = nextName(toolName(title));
    notes.push(`toolName: was ${show(given)}; named ${derived} after ${JSON.stringify(title)}.`);
    return derived;
  }
  const rule = checkToolName(name);
  if (rule)
    notes.push(
      `toolName: ${JSON.stringify(name)} is kept, but breaks the rule for new names. ${rule}`,
    );
  const free = nextName(name);
  if (free !== name)
    notes.push(`toolName: the app already has a tool ${name}; this one is now ${free}.`);
  return free;
}

function descriptionOf(
  given: Json | undefined,
  flow: JsonObject,
  title: string,
  notes: string[],
): string {
  const text = textOf(given);
  if (text !== undefined) return text;
  const fallback = textOf(flow.description) ?? (title.trim() || "A flow without a description.");
  notes.push(`toolDescription: was ${show(given)}; it is now ${JSON.stringify(fallback)}.`);
  return fallback;
}

function listOf(given: Json | undefined, notes: string[]): Json[] {
  if (Array.isArray(given)) return given;
  if (!isGiven(given)) return [];
  if (isObject(given) && isObject(given.properties)) {
    const required = Array.isArray(given.required) ? given.required : [];
    notes.push("parameters: was a JSON Schema; each property is now a parameter.");
    return Object.entries(given.properties).map(([name, schema]) => ({
      name,
      ...(isObject(schema) ? { schema } : {}),
      optional: !required.includes(name),
    }));
  }
  notes.push(`parameters: ${show(given)} is not an array of parameters; the tool now has none.`);
  return [];
}

const oddActive = (value: Json | undefined): string[] =>
  typeof value === "boolean" || !isGiven(value)
    ? []
    : [`isActive: was ${show(value)}; it is now ${isActiveValue(value)}.`];

/** An inactive flow had no tools at all. */
function withoutTool(trigger: JsonObject, notes: string[]): JsonObject {
  const parameters = parametersOf(trigger);
  if (!isActiveValue(parameters.isActive)) return trigger;
  notes.push(`${show(trigger.name)}: the flow was not active, so its tool is not active.`);
  return { ...trigger, parameters: { ...parameters, isActive: false } };
}

/** Further UserIntent nodes were not tools in the legacy system: unnamed ones become inactive tools. */
function nameOther(
  node: JsonObject,
  nextName: (name: string) => string,
  notes: string[],
): JsonObject {
  const existing = parametersOf(node);
  if (textOf(existing.toolName) !== undefined) {
    nextName(String(existing.toolName));
    return node;
  }
  const name = nextName(toolName(textOf(node.name) ?? ""));
  notes.push(
    `${show(node.name)}: is a second trigger; its tool is named ${name} and is not active.`,
  );
  const toolDescription = textOf(existing.toolDescription) ?? textOf(node.name) ?? name;
  return { ...node, parameters: { ...existing, toolName: name, toolDescription, isActive: false } };
}

/** Connects the new trigger to every node without an incoming edge, where legacy runs started. */
function withNewTrigger(
  flow: JsonObject,
  nodes: Json[],
  tool: JsonObject,
  newId: () => string,
  notes: string[],
): JsonObject {
  const id = newId();
  const name = textOf(flow.name) ?? String(tool.toolName);
  const slugs = new Set(nodes.map((node) => (isObject(node) ? node.slug : undefined)));
  const slug = slugFor(name, slugs as Set<string>);
  const trigger: JsonObject = {
    id,
    type: "UserIntent",
    name,
    slug,
    position: { x: 100, y: 100 },
    parameters: tool,
  };
  const hasConnections = Array.isArray(flow.connections);
  const edges = hasConnections
    ? (flow.connections as Json[])
    : Array.isArray(flow.edges)
      ? flow.edges
      : [];
  const ids = new Set(nodes.flatMap((node) => (isObject(node) ? [node.id] : [])));
  const reached = new Set(
    edges.flatMap((edge) =>
      isObject(edge) && ids.has(edge.source ?? edge.sourceNodeId)
        ? [edge.target ?? edge.targetNodeId]
        : [],
    ),
  );
  const starts = nodes.flatMap((node) => {
    if (!isObject(node) || TRIGGERS.includes(node.type as Json)) return [];
    return typeof node.id === "string" && !reached.has(node.id) ? [node.id] : [];
  });
  const added = starts.map(
    (target): JsonObject =>
      hasConnections
        ? { sourceNodeId: id, sourceHandle: "out", targetNodeId: target, targetHandle: "in" }
        : { id: newId(), source: id, sourceHandle: "out", target, targetHandle: "in" },
  );
  if (starts.length > 0)
    notes.push(
      `A new trigger is connected to ${starts.join(", ")}: these nodes had no incoming edge.`,
    );
  return {
    ...flow,
    nodes: [...nodes, trigger],
    ...(hasConnections ? { connections: [...edges, ...added] } : { edges: [...edges, ...added] }),
  };
}

const hasEdgeLists = ({ edges, connections }: JsonObject): boolean =>
  [edges, connections].every((list) => !isGiven(list) || Array.isArray(list));

function toolNamesOf(flow: JsonObject): string[] {
  const nodes = Array.isArray(flow.nodes) ? flow.nodes : [];
  return nodes.flatMap((node) =>
    isObject(node) && node.type === "UserIntent" ? (textOf(parametersOf(node).toolName) ?? []) : [],
  );
}

const parametersOf = (node: JsonObject): JsonObject =>
  isObject(node.parameters) ? node.parameters : {};

const isGiven = (value: Json | undefined): value is Json =>
  value !== undefined && value !== null && value !== "";

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value : undefined;

const show = (value: Json | undefined): string =>
  value === undefined ? "missing" : JSON.stringify(value);

const equal = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);
