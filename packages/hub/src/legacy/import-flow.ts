/**
 * A flow from a file, in today's form or an older one: `connections` with `sourceNodeId` and
 * `targetNodeId` in place of `edges`, nodes without slugs, the tool as fields of the flow.
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
import { isSlug, slugFor } from "@signalbox/rules/flows/slug.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { migrateTools } from "./migrate-tools.ts";

export interface ImportOptions {
  /** For edges, and for triggers that older flows lack. */
  newId: () => string;
  /** Names of tools in the app. */
  takenTools?: { has(name: string): boolean };
}

export type Imported =
  | { outcome: "imported"; flow: FlowDraft; notes: string[] }
  | { outcome: "invalid"; errors: { path: string; message: string }[] };

export function importFlow(input: unknown, { newId, takenTools }: ImportOptions): Imported {
  if (!isObject(input)) return invalid("must be a flow, as an object");
  // A node's parameters are three levels down.
  if (isDeeperThan(LIMITS.depth + 3, input)) return invalid("is nested too deep");
  const { flow, notes } = migrateTools(input, newId, takenTools);
  notes.push(...homeless(flow));
  const parsed = flowDraftSchema.safeParse({
    name: flow.name,
    description: flow.description ?? "",
    ...withSlugs(listAt(flow.nodes), notes),
    edges: edgesOf(flow, newId),
  });
  if (parsed.success) return { outcome: "imported", flow: parsed.data, notes };
  const errors = issuesOf(parsed.error).map(({ path, message }) => ({ path, message }));
  return { outcome: "invalid", errors };
}

const invalid = (message: string): Imported => ({
  outcome: "invalid",
  errors: [{ path: "(all of it)", message }],
});

const listAt = (value: Json | undefined): Json => (value === undefined ? [] : value);

// Whose a flow is was read before, and so was its id.
const FLOW_FIELDS = [...Object.keys(flowDraftSchema.shape), "id", "app", "appId", "appSlug"];
const NODE_FIELDS = Object.keys(nodeSchema.shape);
const EDGE_FIELDS = ["source", "sourceHandle", "target", "targetHandle"];

/** Everything that the flow below does not take over. */
function homeless(flow: JsonObject): string[] {
  const list = isGiven(flow.edges) ? "edges" : "connections";
  return [
    ...leftOut("", flow, [...FLOW_FIELDS, list]),
    ...each(flow.nodes).flatMap(([node, at]) => [
      ...leftOut(`nodes[${at}].`, node, NODE_FIELDS),
      ...leftOut(`nodes[${at}].position.`, node.position, ["x", "y"]),
    ]),
    ...each(flow[list]).flatMap(([edge, at]) => {
      // The older spelling of an end counts where the newer is missing.
      const older = ["source", "target"]
        .filter((end) => !isGiven(edge[end]) || edge[end] === edge[`${end}NodeId`])
        .map((end) => `${end}NodeId`);
      const known = [...EDGE_FIELDS, ...older, ...(isEdgeId(edge.id) ? ["id"] : [])];
      return leftOut(`${list}[${at}].`, edge, known);
    }),
  ];
}

const isGiven = (value: Json | undefined): value is Json => value !== undefined && value !== null;

const isEdgeId = (id: Json | undefined): id is string => typeof id === "string" && id !== "";

const each = (list: Json | undefined): [JsonObject, number][] =>
  Array.isArray(list)
    ? list.flatMap((one, at): [JsonObject, number][] => (isObject(one) ? [[one, at]] : []))
    : [];

/** What has no place, each by its path. A field that says nothing is not missed. */
export function leftOut(
  path: string,
  value: Json | undefined,
  known: readonly string[],
  place = "a flow",
): string[] {
  return Object.entries(isObject(value) ? value : {})
    .filter(([name, held]) => isGiven(held) && !known.includes(name))
    .map(
      ([name, held]) =>
        `${path}${name}: ${shortened(JSON.stringify(held))} has no place in ${place}, and was left out.`,
    );
}

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** Nodes as they are now, with what the canvas of somebody else added left out. */
function withSlugs(nodes: Json, notes: string[]): { nodes: Json } {
  if (!Array.isArray(nodes)) return { nodes };
  const valid = nodes.map(
    (node) => isObject(node) && typeof node.slug === "string" && isSlug(node.slug),
  );
  const taken = new Set(
    nodes.flatMap((node, at) => (valid[at] ? [(node as JsonObject).slug as string] : [])),
  );
  const renamed: [string, string][] = [];
  const named = nodes.map((node, at): Json => {
    if (!isObject(node)) return node;
    const name = typeof node.name === "string" && node.name.trim() ? node.name : (node.type ?? "");
    let slug = node.slug as string;
    if (!valid[at]) {
      slug = slugFor(String(name), taken);
      taken.add(slug);
      if (typeof node.slug === "string" && node.slug) {
        renamed.push([node.slug, slug]);
        notes.push(`The slug ${node.slug} is not allowed any more: it is ${slug} now.`);
      }
    }
    const { id, type, position = { x: 0, y: 0 }, parameters = {} } = node;
    return {
      id: id as Json,
      type: type as Json,
      name,
      slug,
      position: pointOf(position),
      parameters,
    };
  });
  let result: Json = named;
  for (const [from, to] of renamed) result = renameReferences(result, from, to);
  return { nodes: result };
}

const pointOf = (position: Json): Json =>
  isObject(position) ? { x: position.x as Json, y: position.y as Json } : position;

function edgesOf(flow: JsonObject, newId: () => string): Json {
  const edges = flow.edges ?? flow.connections ?? [];
  if (!Array.isArray(edges)) return edges;
  return edges.map((edge): Json => {
    if (!isObject(edge)) return edge;
    return {
      id: isEdgeId(edge.id) ? edge.id : newId(),
      source: (edge.source ?? edge.sourceNodeId) as Json,
      sourceHandle: edge.sourceHandle ?? null,
      target: (edge.target ?? edge.targetNodeId) as Json,
      targetHandle: edge.targetHandle ?? null,
    };
  });
}
