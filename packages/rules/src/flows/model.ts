/** What an app, a flow, a node and an edge are, as the API takes them and the store keeps them. */
import { z } from "zod";
import type { JsonObject } from "../json.ts";
import { isSlug, SLUG_RULE } from "./slug.ts";

export const LIMITS = {
  nodes: 500,
  edges: 2000,
  /** Of one node's parameters, as JSON. */
  parametersBytes: 256 * 1024,
  depth: 32,
} as const;

const id = z.string().min(1).max(100);
const name = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(200, "must have at most 200 characters");
const description = z.string().max(4000, "must have at most 4000 characters");
const coordinate = z.number().min(-1e6).max(1e6);
const handle = z.string().min(1).max(100);

/** Found without recursion: depth is to be refused, not run into. */
export function isDeeperThan(depth: number, value: unknown): boolean {
  let level: unknown[] = [value];
  for (let reached = 0; level.length > 0; reached++) {
    if (reached > depth) return true;
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  }
  return false;
}

/** Any JSON object that is neither too deep nor too large. */
const parametersSchema = z
  .unknown()
  // What follows in the pipe is recursive, and not reached by what this refuses.
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
  type: z.string().min(1).max(100).describe("One that GET /api/node-types lists."),
  name,
  slug: z.string().refine(isSlug, SLUG_RULE),
  position: z.strictObject({ x: coordinate, y: coordinate }),
  parameters: parametersSchema.describe(
    "Those of its type: for Code, components.schemas.CodeParameters.",
  ),
});
export type FlowNode = z.output<typeof nodeSchema>;

/** Canvases leave the handle out where a node has only one. */
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

/** What somebody edits: all of a flow but where it is kept. */
export const flowDraftSchema = z.strictObject({
  name,
  description: description.default(""),
  nodes: nodes.default([]),
  edges: edges.default([]),
});
export type FlowDraft = z.output<typeof flowDraftSchema>;

const APP_SLUG_RULE =
  "A slug has 1 to 63 characters out of a–z, 0–9 and -, and starts and ends with none of the -.";

export const appSchema = z.strictObject({
  slug: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, APP_SLUG_RULE),
  name,
  description: description.default(""),
});
