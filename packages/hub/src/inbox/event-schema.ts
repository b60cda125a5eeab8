/** The views of event-view.ts as schemas, for the descriptions of tools and routes. */
import { z } from "zod";

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

export const eventSchema = z.object({
  ...stateFields,
  payload: z.unknown(),
  ...originFields,
  external_id: text,
  outcome: text,
  claimed_by: text,
  claimed_until: at
    .nullable()
    .describe("When the claim ends. Without `claimed_by`: when the event can be claimed again."),
  attempts: z.int().describe("How often a worker has claimed the event by its id."),
  processed_at: at.nullable(),
  note: text,
});

/** The pending events of an inbox. */
export const statusSchema = z.object({
  pending_count: z.number(),
  latest_received_at: z.string().nullable(),
  types: z.record(z.string(), z.number()),
});

export const claimedSchema = eventSchema.extend({
  ...summaryFields,
  payload: z.unknown().optional(),
});

/** A trigger that was considered for an event. */
export const explainedSchema = z.object({
  trigger: z.string(),
  flow_id: z.string(),
  matched: z.boolean(),
  reason: z.string(),
  decided: z.enum(["on arrival", "now"]),
  run_id: text,
  run_status: text,
});
