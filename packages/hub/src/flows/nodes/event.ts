/** An event that arrives, or that a connection reports: see match/. */
import { z } from "zod";
import { checkFilter, FILTER_LENGTH } from "../../match/filter.ts";
import { paramsSchema } from "../../match/param.ts";
import { parsePath } from "../../match/path.ts";
import { defineNode } from "../node-type.ts";

const path = z
  .string()
  .max(200)
  .refine((text) => parsePath(text) !== undefined, "must be a path such as repository.full_name");

export const eventConfig = z.strictObject({
  /** A kind of sender such as `github`, or the id of one endpoint or connection. */
  source: z.string("must name a source or a connection").min(1, "must not be empty").max(200),
  /** Blank: any. */
  type: z.string().max(200).optional(),
  params: paramsSchema.default({}),
  /** JSONata over the event. */
  filter: z
    .string()
    .max(FILTER_LENGTH)
    .superRefine((text, context) => {
      const problem = text.trim() && checkFilter(text);
      if (problem) context.addIssue({ code: "custom", message: problem });
    })
    .optional(),
  isActive: z.boolean().default(true),
  /** How many of its runs may be under way at once; with `key`, of each value at that path. */
  concurrency: z.strictObject({ most: z.int().min(1).max(1000), key: path.optional() }).optional(),
  /**
   * Events that come within this time of the first are told together, in one run; with `key`, those
   * with the same value at that path. `{{ trigger.gathered }}` lists the others.
   */
  gather: z
    .strictObject({ forMs: z.int().min(1).max(86_400_000), key: path.optional() })
    .optional(),
});

export const event = defineNode({
  type: "Event",
  title: "Event",
  description: "Starts when an event arrives that fits.",
  icon: "Zap",
  kind: "trigger",
  config: eventConfig,
  ports: { in: [], out: ["out"] },
  sample: {
    config: {
      source: "github",
      type: "issues",
      params: { action: "opened", "issue.labels[].name": { op: "in", value: ["bug"] } },
      filter: "data.issue.number > 5",
    },
    input: { type: "issues", data: { action: "opened", issue: { number: 7 } } },
    result: { output: { type: "issues", data: { action: "opened", issue: { number: 7 } } } },
    refuses: {
      config: { source: "github", params: { action: { op: "like", value: "x" } } },
      path: "params.action",
    },
  },
});
