/** The events of one tenant: list, get, claim, mark, replay, explain. */

import type { Json } from "@signalbox/rules/json.ts";
import { REASONS } from "@signalbox/rules/match/match-trigger.ts";
import { operators } from "@signalbox/rules/match/operators.ts";
import { z } from "zod";
import { limitQuery, limitWithDefault, pageOf, time } from "./paging.ts";
import { route } from "./route.ts";
/**
 * The state of the runs that the event started; `unmatched` if it started none, `matching` if the hub has
 * not compared it with all triggers yet.
 */
export const EVENT_OUTCOMES = [
  "unmatched",
  "matching",
  "pending",
  "running",
  "succeeded",
  "failed",
] as const;

export type EventOutcome = (typeof EVENT_OUTCOMES)[number];

const text = z.string().nullable();

/** A field that is absent unless the event is about a check or a workflow. */
const checkField = text.exactOptional();

/** The summary of a payload. A field is null if the payload does not have it. */
export const summaryFields = {
  action: text,
  repo: text,
  sender: text,
  number: z.number().nullable(),
  title: text,
  url: text.describe("A page for people"),
  conclusion: checkField.describe(
    "The result of a check or a workflow; null until it has completed",
  ),
  head_branch: checkField.describe("The branch that a check or a workflow ran on"),
  head_sha: checkField.describe("The commit that a check or a workflow ran on"),
};

const stateFields = {
  id: z.string(),
  type: z.string(),
  received_at: time,
  processed: z.boolean(),
  trigger_status: text,
  last_triggered_at: time.nullable(),
};

/** Any JSON. Payloads are not validated, because they can be large. */
const json = z.custom<Json>();

const originFields = {
  source: z.string(),
  seq: z.int().describe("The event's position in the tenant's log"),
};

export const summarySchema = z.object({ ...stateFields, ...summaryFields, ...originFields });
export type EventSummary = z.output<typeof summarySchema>;

/** Returns, for example, `github.issues opened`. Types of Stripe already contain the action. */
export const eventName = ({
  source,
  type,
  action,
}: Pick<EventSummary, "source" | "type" | "action">): string =>
  action === null || type.endsWith(action) ? `${source}.${type}` : `${source}.${type} ${action}`;

const claimFields = {
  outcome: z
    .enum(EVENT_OUTCOMES)
    .describe(
      "The state of the runs that the event started; `unmatched` if it started none, `matching` if the hub has not compared it with all triggers yet.",
    ),
  claimed_by: text,
  claimed_until: time
    .nullable()
    .describe("When the claim ends. If `claimed_by` is null: when the event can be claimed again."),
};

/** An event in a list of the API. */
export const itemSchema = summarySchema.extend({
  ...claimFields,
  source_id: z
    .string()
    .describe("The id of the endpoint, connection or flow that the event came from."),
  size: z.int().describe("The size of the payload in bytes."),
});

export type EventItem = z.output<typeof itemSchema>;

export const eventSchema = z.object({
  ...stateFields,
  payload: json,
  ...originFields,
  external_id: text,
  ...claimFields,
  attempts: z.int().describe("How many times workers have claimed the event by its id."),
  processed_at: time.nullable(),
  note: text,
});

export type StoredEvent = z.output<typeof eventSchema>;

/** An event with a part of its payload. */
export const partSchema = eventSchema.extend({
  truncated: z
    .boolean()
    .optional()
    .describe("Whether `payload` is not the value, but a slice of its JSON text"),
  payload_bytes: z.int().optional().describe("The size of the whole JSON in bytes, if truncated"),
  next_offset: z
    .int()
    .nullable()
    .optional()
    .describe("The offset of the next slice; null after the last slice"),
});

/** The number of pending events in an inbox, in total and by type. */
export const statusSchema = z.object({
  pending_count: z.number(),
  latest_received_at: z.string().nullable(),
  types: z.record(z.string(), z.number()),
});

export type InboxStatus = z.output<typeof statusSchema>;

export const claimedSchema = eventSchema.extend({
  ...summaryFields,
  payload: json.optional(),
});

const shortValues = z.array(
  z.union([
    z.string(),
    z.number(),
    z.boolean(),
    z.null(),
    z.object({ type: z.literal("list"), length: z.int() }),
    z.object({ type: z.literal("object") }),
  ]),
);

export const reasonSchema = z.object({
  on: z.enum(REASONS),
  path: z.string().optional().describe("The path into the payload, if `on` is `param`."),
  holds: z.boolean(),
  message: z.string(),
  op: z.enum(operators).optional().describe("How the values were compared, if they were."),
  actual: shortValues
    .optional()
    .describe(
      "The first values of the event. Long texts are cut off; lists and objects are not shown.",
    ),
  actual_more: z.int().optional().describe("The number of further values of the event."),
  wanted: shortValues
    .optional()
    .describe("The value of the trigger; with the operator `in`, its first values."),
  wanted_more: z.int().optional().describe("The number of further values of the trigger."),
});
export type Reason = z.output<typeof reasonSchema>;

/** A trigger that was compared with an event, and the verdict. */
export const explainedSchema = z.object({
  trigger: z.string(),
  flow_id: z.string(),
  node_id: z.string(),
  matched: z.boolean(),
  reason: z.string(),
  decided: z
    .enum(["on arrival", "computed", "now", "pending"])
    .describe(
      "`on arrival`: the stored verdict. `computed`: not stored; the trigger has not changed since the event arrived. `now`: the present trigger, which may differ from the one at that time. `pending`: not compared yet, because filters are still being evaluated.",
    ),
  run_id: text,
  run_status: text,
});

const filterText = z.string().max(200, "must have at most 200 characters");

const offsetTime = z.iso.datetime({
  offset: true,
  error: "must be a time such as 2026-11-15T12:00:00Z",
});

export const filterFields = {
  type: filterText.optional().describe("Only events of this type."),
  repo: filterText.optional().describe("Only events of this repository, as owner/name."),
  source: filterText
    .optional()
    .describe("Only events of this source, or of the endpoint or connection with this id."),
  outcome: z
    .enum(EVENT_OUTCOMES, `must be one of ${EVENT_OUTCOMES.join(", ")}`)
    .optional()
    .describe("Only events whose runs have this state; `unmatched`: events that started no run."),
  since: offsetTime.optional().describe("Only events received at this time or later."),
  until: offsetTime.optional().describe("Only events received at this time or earlier."),
  text: filterText
    .min(1, "must not be empty")
    .optional()
    .describe("Text in the type, action, repo, sender, title, url or delivery id."),
};

const tag = "events";

const listQuery = z.strictObject({
  limit: limitQuery,
  cursor: z.string().optional().describe("`next_cursor` of the previous page."),
  order: z.enum(["newest", "oldest"], "must be newest or oldest").optional(),
  ...filterFields,
  pending: z.enum(["0", "1"], "must be 0 or 1").optional(),
  claimable: z
    .enum(["1"], "must be 1")
    .optional()
    .describe("1: only pending events that no worker or agent has claimed."),
});

/** The maximum number of events that one bulk action marks. */
export const MAX_MARKED = 500;

/** Lower, because a replay evaluates all triggers for each event. */
export const MAX_REPLAYED = 50;

const bulkBody = z.strictObject({
  action: z
    .enum(["processed", "waiting", "replay"], "must be processed, waiting or replay")
    .describe("`waiting` makes processed events pending again."),
  ids: z.array(z.string().max(100)).min(1).max(MAX_MARKED).optional(),
  filter: z
    .strictObject({ ...filterFields, pending: z.boolean().optional() })
    .optional()
    .describe("Instead of ids: the newest events that match."),
  cursor: z
    .string()
    .optional()
    .describe("Only with a filter: `next_cursor` of the previous response."),
  note: z.string().max(1_000).optional().describe("Stored with processed events."),
});

export const bulkResult = z.object({
  ids: z
    .array(z.string())
    .describe(
      "The events that were changed or replayed. To undo a mark, send the opposite action with these ids.",
    ),
  unchanged: z.array(z.string()).describe("The events that already had the requested state."),
  unknown: z.array(z.string()).describe("Ids that match no event."),
  not_replayed: z
    .array(z.string())
    .describe("Events that the hub was too busy to replay. Send their ids again later."),
  runs: z.int().describe("The number of runs that a replay has started."),
  next_cursor: z
    .string()
    .nullable()
    .describe(
      "Send it as `cursor` for further events that match the filter; null if there are none.",
    ),
});

export type BulkResult = z.output<typeof bulkResult>;

const byteCount = (min: number) =>
  z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text),
    z
      .int("must be an integer")
      .min(min, `must be at least ${min}`)
      .max(25 * 1024 * 1024, "must be at most 26214400"),
  );

const maxBytes = byteCount(1);

const offset = byteCount(0);

const worker = z
  .string()
  .regex(/^[\w.-]{1,100}$/, "must have 1 to 100 letters, digits, dots, hyphens or underscores")
  .describe("Distinguishes workers that use the same token: only this worker holds the claim.");

const seconds = (min: number) =>
  z
    .int("must be an integer")
    .min(min, `must be at least ${min}`)
    .max(86_400, "must be at most 86400");

export const eventResponse = itemSchema.extend(partSchema.shape);

export type EventView = z.output<typeof eventResponse>;

const explainedTrigger = explainedSchema.extend({
  flow_name: z.string().nullable().describe("Null if the flow was deleted."),
  node_name: z.string().nullable().describe("Null if the draft has no such node any more."),
  reasons: z.array(reasonSchema),
});
export type ExplainedTrigger = z.output<typeof explainedTrigger>;

const explanation = pageOf(explainedTrigger).extend({
  total: z.int().describe("The number of triggers on all pages. Above 1000, it is a lower bound."),
  started: z.int().describe("The number of triggers that started a run."),
});
export type Explanation = z.output<typeof explanation>;

const eventHeaders = z.object({
  content_type: z.string(),
  headers: z.record(z.string(), z.string()),
  size: z.int().describe("The size of the payload in bytes."),
});
export type EventHeaders = z.output<typeof eventHeaders>;

const replayResult = z.object({
  runs: z.array(z.object({ run_id: z.string(), flow_id: z.string() })),
  considered: z.int(),
});
export type ReplayResult = z.output<typeof replayResult>;

export const eventListApi = {
  list: route({
    method: "get",
    path: "/api/events",
    summary: "List events, newest first; filters can be combined",
    tag,
    scope: "inbox:read",
    query: listQuery,
    response: { status: 200, schema: pageOf(itemSchema) },
  }),
  changeMany: route({
    method: "post",
    path: "/api/events/bulk",
    summary: `Mark up to ${MAX_MARKED} events as processed or waiting, or replay up to ${MAX_REPLAYED}`,
    tag,
    scope: "inbox:write",
    body: bulkBody,
    response: { status: 200, schema: bulkResult },
  }),
};

export const eventApi = {
  get: route({
    method: "get",
    path: "/api/events/:event",
    summary: "Get an event with its payload, or with a part of it",
    tag,
    scope: "inbox:read",
    query: z.strictObject({
      path: z
        .string()
        .max(1_000)
        .optional()
        .describe("Only the value at this path of the payload, such as issue.labels[].name."),
      max_bytes: maxBytes
        .optional()
        .describe(
          "A larger payload is `truncated`: `payload` is a slice of its JSON, of at most 256 KiB. Read the next slice with `offset`.",
        ),
      offset: offset
        .optional()
        .describe(
          "Where in the JSON the slice starts, in bytes: the `next_offset` of the previous slice.",
        ),
    }),
    response: { status: 200, schema: eventResponse },
  }),
  getHeaders: route({
    method: "get",
    path: "/api/events/:event/headers",
    summary: "Get the stored headers of an event, and the size of its payload",
    tag,
    scope: "inbox:read",
    response: {
      status: 200,
      schema: eventHeaders,
    },
  }),
  claim: route({
    method: "post",
    path: "/api/events/:event/claim",
    summary: "Claim an event, or renew the claim of the same worker; ?payload=0 omits the payload",
    tag,
    scope: "inbox:write",
    query: z.strictObject({ payload: z.enum(["0", "1"], "must be 0 or 1").optional() }),
    body: z.strictObject({
      worker: worker.optional(),
      lease_s: seconds(5).default(300).describe("The lease in seconds, 5 to 86400."),
    }),
    response: { status: 200, schema: claimedSchema },
  }),
  release: route({
    method: "post",
    path: "/api/events/:event/release",
    summary: "End a claim, so that others can claim the event: immediately, or after a delay",
    tag,
    scope: "inbox:write",
    body: z.strictObject({
      worker: worker.optional(),
      delay_s: seconds(0)
        .optional()
        .describe("The event cannot be claimed for this number of seconds."),
      count_attempt: z
        .boolean()
        .default(true)
        .describe("Whether the claim counts as one of the event's `attempts`."),
    }),
    response: { status: 200, schema: z.object({ id: z.string() }) },
  }),
  markProcessed: route({
    method: "post",
    path: "/api/events/:event/processed",
    summary: "Mark an event as processed; with a worker, only if that worker has claimed it",
    tag,
    scope: "inbox:write",
    body: z.strictObject({ note: z.string().max(1_000).optional(), worker: worker.optional() }),
    response: { status: 200, schema: z.object({ id: z.string(), already: z.boolean() }) },
  }),
  markWaiting: route({
    method: "post",
    path: "/api/events/:event/waiting",
    summary: "Make a processed event pending again",
    tag,
    scope: "inbox:write",
    response: { status: 200, schema: z.object({ id: z.string(), already: z.boolean() }) },
  }),
  replay: route({
    method: "post",
    path: "/api/events/:event/replay",
    summary: "Evaluate the triggers of all flows, of one flow, or one trigger, again for an event",
    tag,
    scope: "flows:call",
    body: z
      .strictObject({
        flow: z.string().min(1).max(100).optional(),
        trigger: z
          .string()
          .min(1)
          .max(100)
          .optional()
          .describe("The id of a trigger node of `flow`. Without it, all triggers of the flow."),
      })
      .refine(({ flow, trigger }) => trigger === undefined || flow !== undefined, {
        path: ["flow"],
        message: "is required with trigger: send the id of the trigger's flow",
      }),
    response: {
      status: 202,
      schema: replayResult,
    },
  }),
  explain: route({
    method: "get",
    path: "/api/events/:event/explain",
    summary:
      "Explain which triggers matched an event, and why: first those that matched, then the nearest misses, then the others",
    tag,
    scope: "inbox:read",
    query: z.strictObject({
      limit: limitWithDefault(50),
      cursor: z.string().max(1_000).optional().describe("`next_cursor` of the previous page."),
      flow: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe("Only the triggers of this flow, by its id."),
    }),
    response: { status: 200, schema: explanation },
  }),
};
