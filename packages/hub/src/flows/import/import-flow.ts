/**
 * Imports a flow in the current or the legacy format. A legacy flow has `connections` with
 * `sourceNodeId` and `targetNodeId` instead of `edges`. Its nodes have no slugs, and some have other
 * types. The fields of its tool are fields of the flow.
 */

import { ignoredFields } from "@signalbox/rules/flows/import/read-flow-file.ts";
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
import { convertNodes, isLegacyNode } from "./convert-nodes.ts";
import { isLegacyTool, migrateTools } from "./migrate-tools.ts";

export interface ImportOptions {
  /** Creates the ids of new triggers, and of edges without an id. */
  newId: () => string;
  /** The tool names that other flows of the app have. */
  takenTools?: { has(name: string): boolean };
  /** Returns the trigger that a legacy call of a flow starts, if the flow has several triggers. */
  triggerOf?: ((flow: string) => string | undefined) | undefined;
  /**
   * True if the nodes are in the legacy format. By default, the function `hasLegacyNodes` decides.
   */
  hasLegacyNodes?: boolean | undefined;
}

export type ImportResult =
  | { outcome: "imported"; flow: FlowDraft; notes: string[] }
  | { outcome: "invalid"; errors: { path: string; message: string }[] };

/**
 * True if the nodes are in the legacy format. Call it before `migrateTools`, which can add `edges`.
 */
export const hasLegacyNodes = (flow: JsonObject): boolean =>
  !hasList(flow.edges) &&
  (isLegacyTool(flow) ||
    hasList(flow.connections) ||
    indexedObjects(flow.nodes).some(([node]) => isLegacyNode(node)));

export function importFlow(input: unknown, options: ImportOptions): ImportResult {
  const { newId, takenTools, triggerOf = () => undefined } = options;
  if (!isObject(input)) return invalidResult("must be an object with a flow");
  // The parameters of a node are at the third level.
  if (isDeeperThan(LIMITS.depth + 3, input))
    return invalidResult(`is nested too deeply: it has more than ${LIMITS.depth + 3} levels`);
  const tooLong = findTooLongList(input);
  if (tooLong) return { outcome: "invalid", errors: [tooLong] };
  const isLegacy = options.hasLegacyNodes ?? hasLegacyNodes(input);
  const { flow, notes } = migrateTools(input, newId, takenTools);
  notes.push(...allIgnoredFields(flow));
  const nodes = assignSlugs(flow.nodes === undefined ? [] : flow.nodes, notes);
  const edges = readEdges(flow, newId, isLegacy);
  const parsed = flowDraftSchema.safeParse({
    name: flow.name,
    description: flow.description ?? "",
    nodes:
      isLegacy && Array.isArray(nodes)
        ? convertNodes(nodes, { existingSlugs: slugsIn(input.nodes), triggerOf, notes })
        : nodes,
    edges: isLegacy ? dropDanglingEdges(edges, nodes, notes) : edges,
  });
  // Parameters that cannot be converted are noted for the flow, and again for its trigger.
  if (parsed.success) return { outcome: "imported", flow: parsed.data, notes: [...new Set(notes)] };
  const errors = issuesOf(parsed.error).map(({ path, message }) => ({ path, message }));
  return { outcome: "invalid", errors };
}

const MAX_ITEMS = { nodes: LIMITS.nodes, edges: LIMITS.edges, connections: LIMITS.edges };

/** Finds a list that exceeds its limit. Must be called before any code reads the items. */
export function findTooLongList(flow: JsonObject): { path: string; message: string } | undefined {
  for (const [path, max] of Object.entries(MAX_ITEMS)) {
    const list = flow[path];
    if (Array.isArray(list) && list.length > max)
      return { path, message: `must have at most ${max} items, but has ${list.length}` };
  }
  return undefined;
}

const invalidResult = (message: string): ImportResult => ({
  outcome: "invalid",
  errors: [{ path: "(root)", message }],
});

// The caller of `importFlow` reads the id and the app.
const FLOW_FIELDS = [...Object.keys(flowDraftSchema.shape), "id", "app", "appId", "appSlug"];
const NODE_FIELDS = Object.keys(nodeSchema.shape);
const EDGE_FIELDS = ["source", "sourceHandle", "target", "targetHandle"];

/** Reports every field that is not imported. */
function allIgnoredFields(flow: JsonObject): string[] {
  const listName = hasList(flow.edges) ? "edges" : "connections";
  return [
    ...ignoredFields("", flow, [...FLOW_FIELDS, listName]),
    ...indexedObjects(flow.nodes).flatMap(([node, index]) => [
      ...ignoredFields(`nodes[${index}].`, node, NODE_FIELDS),
      ...ignoredFields(`nodes[${index}].position.`, node.position, ["x", "y"]),
    ]),
    ...indexedObjects(flow[listName]).flatMap(([edge, index]) => {
      // The legacy field is used only if the current one is missing.
      const legacyFields = ["source", "target"]
        .filter((end) => !hasValue(edge[end]) || edge[end] === edge[`${end}NodeId`])
        .map((end) => `${end}NodeId`);
      const knownFields = [...EDGE_FIELDS, ...legacyFields, ...(isEdgeId(edge.id) ? ["id"] : [])];
      return ignoredFields(`${listName}[${index}].`, edge, knownFields);
    }),
  ];
}

const hasValue = (value: Json | undefined): value is Json => value !== undefined && value !== null;

/** Empty text counts as missing, because a database can have it instead of NULL. */
const hasList = (value: Json | undefined): value is Json => hasValue(value) && value !== "";

const isEdgeId = (id: Json | undefined): id is string => typeof id === "string" && id !== "";

/** The objects of a list, with their indexes. */
const indexedObjects = (list: Json | undefined): [JsonObject, number][] =>
  Array.isArray(list)
    ? list.flatMap((item, index): [JsonObject, number][] => (isObject(item) ? [[item, index]] : []))
    : [];

/** Converts nodes to the current format: with valid slugs, and without unknown fields. */
function assignSlugs(nodes: Json, notes: string[]): Json {
  if (!Array.isArray(nodes)) return nodes;
  const nameNode = createSlugNamer(slugsIn(nodes));
  const renames: [from: string, to: string][] = [];
  const withSlugs = nodes.map((node): Json => {
    if (!isObject(node)) return node;
    const name = typeof node.name === "string" && node.name.trim() ? node.name : (node.type ?? "");
    let slug = node.slug as string;
    if (!hasSlug(node)) {
      slug = nameNode(String(name));
      if (typeof node.slug === "string" && node.slug) {
        renames.push([node.slug, slug]);
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
  let result: Json = withSlugs;
  for (const [from, to] of renames) result = renameReferences(result, from, to);
  return result;
}

const hasSlug = ({ slug }: JsonObject): boolean => typeof slug === "string" && isSlug(slug);

/** The valid slugs of the nodes. */
const slugsIn = (nodes: Json | undefined): Set<string> =>
  new Set(indexedObjects(nodes).flatMap(([node]) => (hasSlug(node) ? [node.slug as string] : [])));

const pointOf = (position: Json): Json =>
  isObject(position) ? { x: position.x as Json, y: position.y as Json } : position;

/** The names that the legacy system gives to the only output and the only input of a node. */
const OUTPUTS: readonly Json[] = ["main", "output", "right"];
const INPUTS: readonly Json[] = ["main", "input", "left"];

function readEdges(flow: JsonObject, newId: () => string, isLegacy: boolean): Json {
  const edges = [flow.edges, flow.connections].find(hasList) ?? [];
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

/** Drops edges to or from missing nodes. The legacy system ignored them. */
function dropDanglingEdges(edges: Json, nodes: Json, notes: string[]): Json {
  if (!Array.isArray(edges)) return edges;
  const ids = new Set(indexedObjects(nodes).map(([{ id }]) => id));
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
