/** The schemas of apps, flows, nodes and edges, for the API and the store. */
import { z } from "zod";
import type { JsonObject } from "../json.ts";
import { APP_SLUG, APP_SLUG_RULE } from "./app-slug.ts";
import { isSlug, SLUG_RULE } from "./slug.ts";

export const LIMITS = {
  nodes: 500,
  edges: 2000,
  /** The size of one node's parameters, as JSON. */
  parametersBytes: 256 * 1024,
  /** The nesting of parameters. */
  depth: 32,
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

/** Its recursion ends at `depth`, so that deep values cannot overflow the stack. */
export function isDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const inner of Array.isArray(value) ? value : Object.values(value))
    if (depth === 0 || isDeeperThan(depth - 1, inner)) return true;
  return false;
}

/** Any JSON object within the limits of depth and size. */
const parametersSchema = z
  .unknown()
  // Must precede the next schema, which is recursive.
  .refine(
    (value) => !isDeeperThan(LIMITS.depth, value),
    `must not be nested deeper than ${LIMITS.depth} levels`,
  )
  .pipe(z.record(z.string(), z.json()))
  .refine(
    (value) => new TextEncoder().encode(JSON.stringify(value)).length <= LIMITS.parametersBytes,
    `must have at most ${LIMITS.parametersBytes} bytes as JSON`,
  )
  .transform((value): JsonObject => value);

export const nodeSchema = z.strictObject({
  id,
  type: z.string().min(1).max(100).describe("A type that GET /api/node-types lists."),
  name,
  slug: z.string().refine(isSlug, SLUG_RULE),
  position: z.strictObject({ x: coordinate, y: coordinate }),
  parameters: parametersSchema.describe(
    "The parameters of its type: for Code, components.schemas.CodeParameters.",
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

const nodes = z.array(nodeSchema).max(LIMITS.nodes, `must have at most ${LIMITS.nodes} items`);
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
