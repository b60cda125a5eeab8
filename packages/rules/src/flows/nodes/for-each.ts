/** Runs what is connected to its port `item` once for each item of a list. */
import { z } from "zod";
import { defineNode, ITEM_PORT } from "../node-type.ts";

const MOST_ITEMS = 10_000;

const nameOf = (value: unknown): string => {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
};

const config = z.strictObject({
  items: z
    .array(z.json(), {
      error: ({ input }) => `must be a list, but is ${nameOf(input)}`,
    })
    .max(MOST_ITEMS, `must be at most ${MOST_ITEMS} items`)
    .describe("A list, most often a reference to one."),
  atOnce: z
    .int()
    .min(1)
    .max(20)
    .default(1)
    .describe("How many rounds may be under way at the same time."),
});

export const forEach = defineNode({
  type: "ForEach",
  title: "For each",
  description:
    "Does something once for each item of a list, and collects the results. With `continueOnError`, a round that failed has `{ error: { code, message } }` in place of its result.",
  icon: "Repeat",
  kind: "logic",
  config,
  ports: { in: ["in"], out: ["done", ITEM_PORT] },
  locals: { [ITEM_PORT]: ["item", "index"] },
  outputSchema: () => ({ type: "array" }),
  sample: {
    config: { items: ["a", "b"], atOnce: 2 },
    result: { each: { items: ["a", "b"], atOnce: 2 } },
    refuses: { config: { items: "a, b" }, path: "items" },
  },
  run: ({ config: { items, atOnce } }) => ({ each: { items, atOnce } }),
});
