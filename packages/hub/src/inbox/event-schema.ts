/** The views of event-view.ts as schemas, for the descriptions of tools and routes. */
import { REASONS } from "@signalbox/rules/match/match-trigger.ts";
import { z } from "zod";
import { EVENT_OUTCOMES } from "./event-view.ts";

const text = z.string().nullable();
const at = z.iso.datetime();

/** Absent from events that are not about a check or a workflow. */
const ofCheck = text.optional();

/** The summary of a payload; null if the payload does not have the field. */
export const summaryFields = {
  action: text,
  repo: text,
  sender: text,
  number: z.number().nullable(),
  title: text,
  url: text.describe("A page for people"),
  conclusion: ofCheck.describe("The result of a check or a workflow; null until it has completed"),
  head_branch: ofCheck.describe("The branch that a check or a workflow ran on"),
  head_sha: ofCheck.describe("The commit that a check or a workflow ran on"),
};

const stateFields = {
  id: z.string(),
  type: z.string(),
  received_at: at,
  processed: z.boolean(),
  trigger_status: text,
  last_triggered_at: at.nullable(),
};

const originFields = {
  source: z.string(),
  seq: z.int().describe("The event's position in the tenant's log"),
};

export const summarySchema = z.object({ ...stateFields, ...summaryFields, ...originFields });

const claimFields = {
  outcome: z
    .enum(EVENT_OUTCOMES)
    .describe("The state of the runs that the event started; `unmatched` if it started none."),
  claimed_by: text,
  claimed_until: at
    .nullable()
    .describe("When the claim ends. Without `claimed_by`: when the event can be claimed again."),
};

/** An event in a list of the API. */
export const itemSchema = summarySchema.extend({
  ...claimFields,
  source_id: z.string().describe("The id of the endpoint, connection or flow that it came from."),
  size: z.int().describe("The size of the payload in bytes."),
});

export const eventSchema = z.object({
  ...stateFields,
  payload: z.unknown(),
  ...originFields,
  external_id: text,
  ...claimFields,
  attempts: z.int().describe("How often a worker has claimed the event by its id."),
  processed_at: at.nullable(),
  note: text,
});

/** The pending events of an inbox. */
/** An event with a part of its payload. */
export const partSchema = eventSchema.extend({
  truncated: z
    .boolean()
    .optional()
    .describe("Whether payload is a slice of the payload's JSON, as text"),
  payload_bytes: z.int().optional().describe("The bytes of the whole JSON, if truncated"),
  next_offset: z
    .int()
    .nullable()
    .optional()
    .describe("The offset of the next part; null after the last"),
});

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

/** A trigger that was considered for an event. */
export const explainedSchema = z.object({
  trigger: z.string(),
  flow_id: z.string(),
  node_id: z.string(),
  matched: z.boolean(),
  reason: z.string(),
  decided: z.enum(["on arrival", "now"]),
  run_id: text,
  run_status: text,
});
