/**
 * Migrates legacy tools. A legacy flow is one tool: `toolName`, `toolDescription`, `parameters` and
 * `isActive` are fields of the flow. They move to the flow's first UserIntent trigger, or to a new
 * trigger. Accepts any JSON object. A flow in the current format is returned unchanged. So is a flow
 * whose nodes or edges are not arrays, which every import rejects. Notes report every change and every
 * dropped value.
 */
import { slugFor } from "@signalbox/rules/flows/slug.ts";
import { checkToolName, toolName, uniqueToolName } from "@signalbox/rules/flows/tool-name.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { convertParameters } from "./convert-parameters.ts";
import { isActiveValue } from "./is-active.ts";

export interface MigrationResult {
  flow: JsonObject;
  changed: boolean;
  /** One message for each change or problem. */
  notes: string[];
}

const LEGACY_FIELDS = ["toolName", "toolDescription", "parameters", "isActive"] as const;
/** A flow that has only `isActive` is of a later legacy version, where triggers are the tools. */
const TOOL_FIELDS = ["toolName", "toolDescription", "parameters"] as const;
const TRIGGER_TYPES: readonly Json[] = ["UserIntent", "Event", "Schedule"];

/** True if the flow itself has fields of a tool. */
export const isLegacyTool = (flow: JsonObject): boolean =>
  LEGACY_FIELDS.some((field) => Object.hasOwn(flow, field));

/** Migrates the flows of one app together, because tool names are unique in an app. */
export function migrateApp(flows: readonly JsonObject[], newId: () => string): MigrationResult[] {
  const takenNames = new Set(flows.filter((flow) => !isLegacyTool(flow)).flatMap(toolNamesOf));
  return flows.map((flow) => {
    const migrated = migrateTools(flow, newId, takenNames);
    for (const name of toolNamesOf(migrated.flow)) takenNames.add(name);
    return migrated;
  });
}

export function migrateTools(
  flow: JsonObject,
  newId: () => string,
  takenNames: { has(name: string): boolean } = new Set<string>(),
): MigrationResult {
  const { nodes = [] } = flow;
  if (!isLegacyTool(flow) || !Array.isArray(nodes) || !hasEdgeLists(flow))
    return { flow, changed: false, notes: [] };
  const notes: string[] = [];
  const assigned = new Set<string>();
  const assignName = (name: string) => {
    const isTaken = (candidate: string) => assigned.has(candidate) || takenNames.has(candidate);
    const unique = uniqueToolName(name, { has: isTaken });
    assigned.add(unique);
    return unique;
  };
  const firstIndex = nodes.findIndex((node) => isObject(node) && node.type === "UserIntent");
  const firstTrigger = (firstIndex === -1 ? undefined : nodes[firstIndex]) as
    | JsonObject
    | undefined;
  const flowWithoutTool = Object.fromEntries(
    Object.entries(flow).filter(([name]) => !LEGACY_FIELDS.some((field) => field === name)),
  );
  if (!firstTrigger && !TOOL_FIELDS.some((field) => Object.hasOwn(flow, field)))
    return { flow: flowWithoutTool, changed: true, notes: activeNotes(flow.isActive) };
  const tool = createTool(flow, firstTrigger, assignName, notes);
  if (!firstTrigger)
    return { flow: addTrigger(flowWithoutTool, nodes, tool, newId, notes), changed: true, notes };

  const migratedNodes = nodes.map((node, index) => {
    if (index === firstIndex)
      return { ...firstTrigger, parameters: { ...parametersOf(firstTrigger), ...tool } };
    if (!isObject(node) || node.type !== "UserIntent") return node;
    const trigger = migrateFurtherTrigger(node, assignName, notes);
    return isActiveValue(flow.isActive) ? trigger : deactivateTool(trigger, notes);
  });
  return { flow: { ...flowWithoutTool, nodes: migratedNodes }, changed: true, notes };
}

/**
 * Returns the parameters of the trigger. If the values of the flow and of the trigger differ, the
 * flow's values are used, because clients know them. The tool is active only if the flow and the
 * trigger were active.
 */
function createTool(
  flow: JsonObject,
  trigger: JsonObject | undefined,
  assignName: (name: string) => string,
  notes: string[],
): JsonObject {
  const existing = trigger ? parametersOf(trigger) : {};
  const isActive = isActiveValue(flow.isActive);
  for (const field of isActive ? TOOL_FIELDS : LEGACY_FIELDS)
    if (
      hasContent(flow[field]) &&
      hasContent(existing[field]) &&
      !areEqual(flow[field], existing[field])
    )
      notes.push(
        `${field}: the trigger had ${JSON.stringify(existing[field])}; the flow's ${JSON.stringify(flow[field])} replaces it.`,
      );
  const fieldValue = (field: (typeof LEGACY_FIELDS)[number]): Json | undefined =>
    hasContent(flow[field]) ? flow[field] : existing[field];
  const title = textOf(trigger?.name) ?? textOf(flow.name) ?? "";
  notes.push(...activeNotes(flow.isActive), ...activeNotes(existing.isActive));
  return {
    toolName: migrateName(fieldValue("toolName"), title, assignName, notes),
    toolDescription: migrateDescription(fieldValue("toolDescription"), flow, title, notes),
    parameters: convertParameters(fieldValue("parameters"), (message) =>
      notes.push(`${title}: ${message}`),
    ),
    isActive: isActive && isActiveValue(existing.isActive),
    whenToUse: existing.whenToUse ?? "",
    whenNotToUse: existing.whenNotToUse ?? "",
  };
}

function migrateName(
  value: Json | undefined,
  title: string,
  assignName: (name: string) => string,
  notes: string[],
): string {
  const name = textOf(value);
  if (name === undefined) {
    const derived = assignName(toolName(title));
    notes.push(
      `toolName: was ${describeValue(value)}; named ${derived} after ${JSON.stringify(title)}.`,
    );
    return derived;
  }
  const problem = checkToolName(name);
  if (problem)
    notes.push(
      `toolName: ${JSON.stringify(name)} is kept, but breaks the rule for new names. ${problem}`,
    );
  const unique = assignName(name);
  if (unique !== name)
    notes.push(`toolName: the app already has a tool ${name}; this one is now ${unique}.`);
  return unique;
}

function migrateDescription(
  value: Json | undefined,
  flow: JsonObject,
  title: string,
  notes: string[],
): string {
  const text = textOf(value);
  if (text !== undefined) return text;
  const fallback = textOf(flow.description) ?? (title.trim() || "A flow without a description.");
  notes.push(
    `toolDescription: was ${describeValue(value)}; it is now ${JSON.stringify(fallback)}.`,
  );
  return fallback;
}

/** A note if `isActive` has a value that is not a boolean. */
const activeNotes = (value: Json | undefined): string[] =>
  typeof value === "boolean" || !hasContent(value)
    ? []
    : [`isActive: was ${describeValue(value)}; it is now ${isActiveValue(value)}.`];

/** Deactivates the tool of a trigger, because the tools of an inactive flow were not active. */
function deactivateTool(trigger: JsonObject, notes: string[]): JsonObject {
  const parameters = parametersOf(trigger);
  if (!isActiveValue(parameters.isActive)) return trigger;
  notes.push(`${describeValue(trigger.name)}: the flow was not active, so its tool is not active.`);
  return { ...trigger, parameters: { ...parameters, isActive: false } };
}

/**
 * Migrates a UserIntent node after the first one. It was not a tool in the legacy system, so it becomes
 * an inactive tool, unless it already has a tool name.
 */
function migrateFurtherTrigger(
  node: JsonObject,
  assignName: (name: string) => string,
  notes: string[],
): JsonObject {
  const existing = parametersOf(node);
  if (textOf(existing.toolName) !== undefined) {
    assignName(String(existing.toolName));
    return node;
  }
  const name = assignName(toolName(textOf(node.name) ?? ""));
  notes.push(
    `${describeValue(node.name)}: is a second trigger; its tool is named ${name} and is not active.`,
  );
  const toolDescription = textOf(existing.toolDescription) ?? textOf(node.name) ?? name;
  return { ...node, parameters: { ...existing, toolName: name, toolDescription, isActive: false } };
}

/**
 * Adds a trigger, and connects it to every node without an incoming edge, where legacy runs
 * started.
 */
function addTrigger(
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
  const targets = new Set(
    edges.flatMap((edge) =>
      isObject(edge) && ids.has(edge.source ?? edge.sourceNodeId)
        ? [edge.target ?? edge.targetNodeId]
        : [],
    ),
  );
  const startNodes = nodes.flatMap((node) => {
    if (!isObject(node) || TRIGGER_TYPES.includes(node.type as Json)) return [];
    return typeof node.id === "string" && !targets.has(node.id) ? [node.id] : [];
  });
  const newEdges = startNodes.map(
    (target): JsonObject =>
      hasConnections
        ? { sourceNodeId: id, sourceHandle: "out", targetNodeId: target, targetHandle: "in" }
        : { id: newId(), source: id, sourceHandle: "out", target, targetHandle: "in" },
  );
  if (startNodes.length > 0)
    notes.push(
      `A new trigger is connected to ${startNodes.join(", ")}: these nodes had no incoming edge.`,
    );
  return {
    ...flow,
    nodes: [...nodes, trigger],
    ...(hasConnections
      ? { connections: [...edges, ...newEdges] }
      : { edges: [...edges, ...newEdges] }),
  };
}

const hasEdgeLists = ({ edges, connections }: JsonObject): boolean =>
  [edges, connections].every((list) => !hasContent(list) || Array.isArray(list));

function toolNamesOf(flow: JsonObject): string[] {
  const nodes = Array.isArray(flow.nodes) ? flow.nodes : [];
  return nodes.flatMap((node) =>
    isObject(node) && node.type === "UserIntent" ? (textOf(parametersOf(node).toolName) ?? []) : [],
  );
}

const parametersOf = (node: JsonObject): JsonObject =>
  isObject(node.parameters) ? node.parameters : {};

const hasContent = (value: Json | undefined): value is Json =>
  value !== undefined && value !== null && value !== "";

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value : undefined;

const describeValue = (value: Json | undefined): string =>
  value === undefined ? "missing" : JSON.stringify(value);

const areEqual = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);
