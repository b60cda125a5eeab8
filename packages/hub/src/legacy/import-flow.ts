/**
 * Reads a flow in the current or a legacy format. A legacy flow has `connections` with `sourceNodeId`
 * and `targetNodeId` instead of `edges`, nodes without slugs and of other types, and the tool's fields
 * on the flow.
 */
import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import {
  type FlowDraft,
  flowDraftSchema,
  isDeeperThan,
  LIMITS,
  nodeSchema,
} from "@signalbox/rules/flows/model.ts";
import { renameReferences } from "@signalbox/rules/flows/references.ts";
import { createSlugNamer, isSlug } from "@signalbox/rules/flows/slug.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { truncate } from "../lib/truncate.ts";
import { convertNodes, isLegacyNode } from "./convert-nodes.ts";
import { isLegacyTool, migrateTools } from "./migrate-tools.ts";

export interface ImportOptions {
  /** For edges without an id, and for new triggers. */
  newId: () => string;
  /** The tool names of the app. */
  takenTools?: { has(name: string): boolean };
  /** For calls of flows with several triggers: the trigger that a legacy call starts. */
  triggerOf?: ((flow: string) => string | undefined) | undefined;
  /** Whether the nodes are legacy nodes. By default the input shows it. */
  hasLegacyNodes?: boolean | undefined;
}

export type Imported =
  | { outcome: "imported"; flow: FlowDraft; notes: string[] }
  | { outcome: "invalid"; errors: { path: string; message: string }[] };

/** Whether the nodes are in the legacy format, which has no `edges`. `migrateTools` can add them. */
export const hasLegacyNodes = (flow: JsonObject): boolean =>
  !isListGiven(flow.edges) &&
  (isLegacyTool(flow) ||
    isListGiven(flow.connections) ||
    each(flow.nodes).some(([node]) => isLegacyNode(node)));

export function importFlow(input: unknown, options: ImportOptions): Imported {
  const { newId, takenTools, triggerOf = () => undefined } = options;
  if (!isObject(input)) return invalid("must be an object with a flow");
  // The parameters of a node are at the third level.
  if (isDeeperThan(LIMITS.depth + 3, input))
    return invalid(`is nested too deeply: it has more than ${LIMITS.depth + 3} levels`);
  const tooLong = findTooLongList(input);
  if (tooLong) return { outcome: "invalid", errors: [tooLong] };
  const isLegacy = options.hasLegacyNodes ?? hasLegacyNodes(input);
  const { flow, notes } = migrateTools(input, newId, takenTools);
  notes.push(...ignoredIn(flow));
  const nodes = withSlugs(flow.nodes === undefined ? [] : flow.nodes, notes);
  const edges = edgesOf(flow, newId, isLegacy);
  const parsed = flowDraftSchema.safeParse({
    name: flow.name,
    description: flow.description ?? "",
    nodes:
      isLegacy && Array.isArray(nodes)
        ? convertNodes(nodes, { givenSlugs: slugsIn(input.nodes), triggerOf, notes })
        : nodes,
    edges: isLegacy ? withoutDangling(edges, nodes, notes) : edges,
  });
  if (parsed.success) return { outcome: "imported", flow: parsed.data, notes };
  const errors = issuesOf(parsed.error).map(({ path, message }) => ({ path, message }));
  return { outcome: "invalid", errors };
}

const MAX_ITEMS = { nodes: LIMITS.nodes, edges: LIMITS.edges, connections: LIMITS.edges };

/** Must be checked before anything reads the items. */
export function findTooLongList(flow: JsonObject): { path: string; message: string } | undefined {
  for (const [path, max] of Object.entries(MAX_ITEMS)) {
    const list = flow[path];
    if (Array.isArray(list) && list.length > max)
      return { path, message: `must have at most ${max} items, but has ${list.length}` };
  }
  return undefined;
}

const invalid = (message: string): Imported => ({
  outcome: "invalid",
  errors: [{ path: "(root)", message }],
});

// The caller reads the id and the app.
const FLOW_FIELDS = [...Object.keys(flowDraftSchema.shape), "id", "app", "appId", "appSlug"];
const NODE_FIELDS = Object.keys(nodeSchema.shape);
const EDGE_FIELDS = ["source", "sourceHandle", "target", "targetHandle"];

/** Reports every field that is not imported. */
function ignoredIn(flow: JsonObject): string[] {
  const list = isListGiven(flow.edges) ? "edges" : "connections";
  return [
    ...ignoredFields("", flow, [...FLOW_FIELDS, list]),
    ...each(flow.nodes).flatMap(([node, at]) => [
      ...ignoredFields(`nodes[${at}].`, node, NODE_FIELDS),
      ...ignoredFields(`nodes[${at}].position.`, node.position, ["x", "y"]),
    ]),
    ...each(flow[list]).flatMap(([edge, at]) => {
      // The legacy field is used only if the current one is missing.
      const legacy = ["source", "target"]
        .filter((end) => !isGiven(edge[end]) || edge[end] === edge[`${end}NodeId`])
        .map((end) => `${end}NodeId`);
      const known = [...EDGE_FIELDS, ...legacy, ...(isEdgeId(edge.id) ? ["id"] : [])];
      return ignoredFields(`${list}[${at}].`, edge, known);
    }),
  ];
}

const isGiven = (value: Json | undefined): value is Json => value !== undefined && value !== null;

/** A database can have empty text instead of NULL. */
const isListGiven = (value: Json | undefined): value is Json => isGiven(value) && value !== "";

const isEdgeId = (id: Json | undefined): id is string => typeof id === "string" && id !== "";

const each = (list: Json | undefined): [JsonObject, number][] =>
  Array.isArray(list)
    ? list.flatMap((one, at): [JsonObject, number][] => (isObject(one) ? [[one, at]] : []))
    : [];

/** A message for each unknown field that has a value. */
export function ignoredFields(
  path: string,
  value: Json | undefined,
  known: readonly string[],
  container = "a flow",
): string[] {
  return Object.entries(isObject(value) ? value : {})
    .filter(([name, given]) => isGiven(given) && !known.includes(name))
    .map(
      ([name, given]) =>
        `${path}${name}: ${truncate(JSON.stringify(given), 201)} is not a field of ${container}, and was ignored.`,
    );
}

/** Nodes in the current format: with valid slugs, and without unknown fields. */
function withSlugs(nodes: Json, notes: string[]): Json {
  if (!Array.isArray(nodes)) return nodes;
  const nameNode = createSlugNamer(slugsIn(nodes));
  const renamed: [string, string][] = [];
  const named = nodes.map((node): Json => {
    if (!isObject(node)) return node;
    const name = typeof node.name === "string" && node.name.trim() ? node.name : (node.type ?? "");
    let slug = node.slug as string;
    if (!hasSlug(node)) {
      slug = nameNode(String(name));
      if (typeof node.slug === "string" && node.slug) {
        renamed.push([node.slug, slug]);
        notes.push(`The slug ${node.slug} is no longer allowed: it is now ${slug}.`);
      }
    }
    const { id, type, position, parameters } = node;
    return {
      id: id as Json,
      type: type as Json,
      name,
      slug,
      position: pointOf(position ?? { x: 0, y: 0 }),
      parameters: parameters ?? {},
    };
  });
  let result: Json = named;
  for (const [from, to] of renamed) result = renameReferences(result, from, to);
  return result;
}

const hasSlug = ({ slug }: JsonObject): boolean => typeof slug === "string" && isSlug(slug);

/** The valid slugs of the nodes. */
const slugsIn = (nodes: Json | undefined): Set<string> =>
  new Set(each(nodes).flatMap(([node]) => (hasSlug(node) ? [node.slug as string] : [])));

const pointOf = (position: Json): Json =>
  isObject(position) ? { x: position.x as Json, y: position.y as Json } : position;

/** The names that the legacy system gives to the only output and the only input of a node. */
const OUTPUTS: readonly Json[] = ["main", "output", "right"];
const INPUTS: readonly Json[] = ["main", "input", "left"];

function edgesOf(flow: JsonObject, newId: () => string, isLegacy: boolean): Json {
  const edges = [flow.edges, flow.connections].find(isListGiven) ?? [];
  if (!Array.isArray(edges)) return edges;
  return edges.map((edge): Json => {
    if (!isObject(edge)) return edge;
    const { sourceHandle = null, targetHandle = null } = edge;
    return {
      id: isEdgeId(edge.id) ? edge.id : newId(),
      source: (edge.source ?? edge.sourceNodeId) as Json,
      sourceHandle: isLegacy && OUTPUTS.includes(sourceHandle) ? null : sourceHandle,
      target: (edge.target ?? edge.targetNodeId) as Json,
      targetHandle: isLegacy && INPUTS.includes(targetHandle) ? null : targetHandle,
    };
  });
}

/** The legacy system ignored connections of nodes that no longer existed. */
function withoutDangling(edges: Json, nodes: Json, notes: string[]): Json {
  if (!Array.isArray(edges)) return edges;
  const ids = new Set(each(nodes).map(([{ id }]) => id));
  return edges.filter((edge) => {
    const { source, target } = isObject(edge) ? edge : {};
    if (typeof source !== "string" || typeof target !== "string") return true;
    const missing = [source, target].filter((id) => !ids.has(id));
    if (missing.length > 0)
      notes.push(
        `connections: ${source} → ${target} was dropped: there is no node ${missing.join(" or ")}.`,
      );
    return missing.length === 0;
  });
}
