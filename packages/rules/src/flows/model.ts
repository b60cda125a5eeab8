/** Schemas of apps, flows, nodes and edges, for the API and the store. */
import { z } from "zod";
import type { JsonObject } from "../json.ts";
import { APP_SLUG, APP_SLUG_RULE } from "./app-slug.ts";
import { jsonObject } from "./json-value.ts";
import { isSlug, SLUG_RULE } from "./slug.ts";

export const LIMITS = {
  nodes: 500,
  edges: 2000,
  /** The size of one node's parameters, as JSON. */
  parametersBytes: 256 * 1024,
  /** The nesting of parameters. */
  depth: 32,
  /** The references in the templates of one node, and of all nodes of a flow. */
  nodeReferences: 2000,
  references: 10_000,
  /** The characters of the name of an app, a flow or a node. */
  name: 300,
} as const;

const id = z.string().min(1).max(100);
const name = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(LIMITS.name, `must have at most ${LIMITS.name} characters`);
const description = z.string().max(4000, "must have at most 4000 characters");
const coordinate = z.number().min(-1e6).max(1e6);
const handle = z.string().min(1).max(100);

/** The recursion ends at `depth`, so that deep values cannot overflow the stack. */
export function isDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const inner of Array.isArray(value) ? value : Object.values(value))
    if (depth === 0 || isDeeperThan(depth - 1, inner)) return true;
  return false;
}

function countOpenings(text: string): number {
  let count = 0;
  for (let at = text.indexOf("{{"); at >= 0; at = text.indexOf("{{", at + 2)) count += 1;
  return count;
}

/** Counts every `{{`, which can be too many: templates are parsed only after this limit was checked. */
function countReferences(value: unknown): number {
  if (typeof value === "string") return countOpenings(value);
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + countReferences(inner), 0);
}

/** Any JSON object within the limits of depth, size and references. */
const parametersSchema = z
  .unknown()
  // This check must be the first, because the others are recursive.
  .refine((value) => !isDeeperThan(LIMITS.depth, value), {
    message: `must not be nested deeper than ${LIMITS.depth} levels`,
    abort: true,
  })
  .pipe(jsonObject())
  .refine(
    (value) => new TextEncoder().encode(JSON.stringify(value)).length <= LIMITS.parametersBytes,
    `must have at most ${LIMITS.parametersBytes} bytes as JSON`,
  )
  .refine(
    (value) => countReferences(value) <= LIMITS.nodeReferences,
    `must have at most ${LIMITS.nodeReferences} references {{ … }}: compute the value in a preceding Code or Transform node, and refer to its output`,
  )
  .transform((value): JsonObject => value);

export const nodeSchema = z.strictObject({
  id,
  type: z.string().min(1).max(100).describe("A type that GET /api/node-types lists."),
  name,
  slug: z.string().refine(isSlug, SLUG_RULE),
  position: z.strictObject({ x: coordinate, y: coordinate }),
  parameters: parametersSchema.describe(
    "The parameters of the node's type, such as components.schemas.CodeParameters for Code.",
  ),
});
export type FlowNode = z.output<typeof nodeSchema>;

/** UI libraries omit the handle if a node has only one. */
export const edgeSchema = z.strictObject({
  id,
  source: id,
  sourceHandle: handle.nullish().transform((port) => port ?? "out"),
  target: id,
  targetHandle: handle.nullish().transform((port) => port ?? "in"),
});
export type FlowEdge = z.output<typeof edgeSchema>;

const nodes = z
  .array(nodeSchema)
  .max(LIMITS.nodes, `must have at most ${LIMITS.nodes} items`)
  .superRefine((items, { addIssue }) => {
    const counts = items.map(({ parameters }) => countReferences(parameters));
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total <= LIMITS.references) return;
    const most = Math.max(...counts);
    const { name } = items[counts.indexOf(most)] as FlowNode;
    addIssue({
      code: "custom",
      message: `must have at most ${LIMITS.references} references {{ … }}, but have ${total}, of which ${name} has ${most}: compute values in Code or Transform nodes, and refer to their outputs, or split the flow with CallFlow`,
    });
  });
const edges = z.array(edgeSchema).max(LIMITS.edges, `must have at most ${LIMITS.edges} items`);

/** The editable part of a flow. */
export const flowDraftSchema = z.strictObject({
  name,
  description: description.default(""),
  nodes: nodes.default([]),
  edges: edges.default([]),
});
export type FlowDraft = z.output<typeof flowDraftSchema>;

export const appSchema = z.strictObject({
  slug: z.string().regex(APP_SLUG, APP_SLUG_RULE),
  name,
  description: description.default(""),
});
