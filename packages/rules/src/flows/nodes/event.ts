/** Starts a run when a matching event arrives; match/match-trigger.ts decides which events match. */
import { z } from "zod";
import { MAX_FILTER_LENGTH } from "../../match/filter.ts";
import { paramsSchema } from "../../match/param.ts";
import { concurrencySchema, pathSchema } from "../concurrency.ts";
import { defineNode } from "../node-type.ts";
import { pollSchema } from "../poll.ts";
import { textSchema } from "../text-schema.ts";

export const eventConfig = z.strictObject({
  source: textSchema("must name a source or a connection")
    .min(1, "must not be empty")
    .max(200)
    .describe("A kind of sender such as `github`, or the id of one endpoint or connection."),
  type: z.string().max(200).optional().describe("The event's type; any type if omitted or blank."),
  params: paramsSchema
    .default({})
    .describe("Conditions by path into the event's data: a value, or `{ op, value }`."),
  filter: z
    .string()
    .max(MAX_FILTER_LENGTH)
    .optional()
    .describe(
      "A JSONata expression that must be true. Its input is `{ id, source, type, received_at, data }`.",
    ),
  isActive: z.boolean().default(true).describe("Whether it starts runs."),
  concurrency: concurrencySchema
    .optional()
    .describe("How many runs may be active at the same time."),
  gather: z
    .strictObject({
      forMs: z
        .int()
        .min(1)
        .max(86_400_000)
        .describe("The time window in milliseconds, from the first event."),
      key: pathSchema
        .optional()
        .describe("Only events with the same value at this path share a run."),
    })
    .optional()
    .describe(
      "Events that arrive within a time window share one run. `{{ trigger }}` is the first event; `{{ trigger.gathered }}` lists the others.",
    ),
  poll: pollSchema
    .optional()
    .describe(
      "For a connection without triggers: calls a tool from time to time, and stores each new item of its list as an event. The events have the trigger's type, or the tool's name.",
    ),
});

/** The fields of `{{ trigger }}` in a run that an event started; see the hub's flows/matching/event-input.ts. */
export const EVENT_FIELDS = [
  "id",
  "source",
  "external_id",
  "type",
  "received_at",
  "data",
  "gathered",
] as const;

export const event = defineNode({
  type: "Event",
  title: "Event",
  description: "Starts when a matching event arrives.",
  icon: "Zap",
  kind: "trigger",
  config: eventConfig,
  ports: { in: [], out: ["out"] },
  listensTo: ({ type, ...selection }) => ({
    ...selection,
    ...(type?.trim() ? { type } : {}),
  }),
  usesTools: ({ source, poll }) =>
    poll
      ? [
          {
            connection: source,
            at: ["source"],
            tool: { name: poll.tool, at: ["poll", "tool"] },
            arguments: { value: poll.arguments, at: ["poll", "arguments"] },
          },
        ]
      : [],
  outputSchema: () => ({
    type: "object",
    properties: Object.fromEntries(EVENT_FIELDS.map((field) => [field, {}])),
    additionalProperties: false,
  }),
  code: { field: "filter", language: "jsonata" },
  sample: {
    config: {
      source: "github",
      type: "issues",
      params: { action: "opened", "issue.labels[].name": { op: "in", value: ["bug"] } },
      filter: "data.issue.number > 5",
    },
    input: { type: "issues", data: { action: "opened", issue: { number: 7 } } },
    result: { output: { type: "issues", data: { action: "opened", issue: { number: 7 } } } },
    rejects: {
      config: { source: "github", params: { action: { op: "like", value: "x" } } },
      path: "params.action",
    },
  },
});
