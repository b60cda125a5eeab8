/** Runs the nodes after its port `item` once for each item of an array. */
import { z } from "zod";
import { jsonValue } from "../json-value.ts";
import { defineNode, ITEM_PORT } from "../node-type.ts";

const MAX_ITEMS = 10_000;

const config = z.strictObject({
  items: z.array(jsonValue()).max(MAX_ITEMS).describe("An array, usually a reference to one."),
  atOnce: z.int().min(1).max(20).default(1).describe("How many items are processed in parallel."),
});

export const forEach = defineNode({
  type: "ForEach",
  title: "For each",
  description:
    "Runs the nodes after its port `item` once for each item of an array, and collects their results. With `continueOnError`, the result of a failed iteration is `{ error: { code, message } }`.",
  icon: "Repeat",
  kind: "logic",
  config,
  ports: { in: ["in"], out: ["done", ITEM_PORT] },
  locals: { [ITEM_PORT]: ["item", "index"] },
  outputSchema: () => ({ type: "array" }),
  sample: {
    config: { items: ["a", "b"], atOnce: 2 },
    result: { each: { items: ["a", "b"], atOnce: 2 } },
    rejects: { config: { items: "a, b" }, path: "items" },
  },
  run: ({ config: { items, atOnce } }) => ({ each: { items, atOnce } }),
});
