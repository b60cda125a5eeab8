/** The schemas of the views in event-view.ts, for the descriptions of tools and routes. */
import { REASONS } from "@signalbox/rules/match/match-trigger.ts";
import { z } from "zod";
import { EVENT_OUTCOMES } from "./event-view.ts";

const text = z.string().nullable();
const time = z.iso.datetime();

/** A field that is absent unless the event is about a check or a workflow. */
const checkField = text.optional();

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

const originFields = {
  source: z.string(),
  seq: z.int().describe("The event's position in the tenant's log"),
};

export const summarySchema = z.object({ ...stateFields, ...summaryFields, ...originFields });

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

export const eventSchema = z.object({
  ...stateFields,
  payload: z.unknown(),
  ...originFields,
  external_id: text,
  ...claimFields,
  attempts: z.int().describe("How many times workers have claimed the event by its id."),
  processed_at: time.nullable(),
  note: text,
});

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

export const claimedSchema = eventSchema.extend({
  ...summaryFields,
  payload: z.unknown().optional(),
});

export const reasonSchema = z.object({
  on: z.enum(REASONS),
  path: z.string().optional().describe("The path into the payload, if `on` is `param`."),
  holds: z.boolean(),
  message: z.string(),
});

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
