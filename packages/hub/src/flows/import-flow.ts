/**
 * A flow from a file, in today's form or an older one: `connections` with `sourceNodeId` and
 * `targetNodeId` in place of `edges`, nodes without slugs, the tool as fields of the flow.
 */
import { isObject, type Json, type JsonObject } from "../lib/json.ts";
import { issuesOf } from "./issues.ts";
import { migrateTools } from "./migrate-tools.ts";
import { type FlowDraft, flowDraftSchema, isDeeperThan, LIMITS } from "./model.ts";
import { renameReferences } from "./references.ts";
import { isSlug, slugFor } from "./slug.ts";

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
      id: typeof edge.id === "string" && edge.id ? edge.id : newId(),
      source: (edge.source ?? edge.sourceNodeId) as Json,
      sourceHandle: edge.sourceHandle ?? null,
      target: (edge.target ?? edge.targetNodeId) as Json,
      targetHandle: edge.targetHandle ?? null,
    };
  });
}
