/** The views of event-view.ts as schemas, for the descriptions of tools and routes. */
import { z } from "zod";

const text = z.string().nullable();
const at = z.iso.datetime();

/** The summary of a payload; null if the payload does not have the field. */
export const summaryFields = {
  action: text,
  repo: text,
  sender: text,
  number: z.number().nullable(),
  title: text,
  url: text,
};

const stateFields = {
  id: z.string(),
  type: z.string(),
  received_at: at,
  processed: z.boolean(),
  trigger_status: text,
  last_triggered_at: at.nullable(),
};

export const summarySchema = z.object({ ...stateFields, ...summaryFields });

export const eventSchema = z.object({
  ...stateFields,
  payload: z.unknown(),
  source: z.string(),
  external_id: text,
  seq: z.int(),
  outcome: text,
  claimed_by: text,
  claimed_until: at.nullable(),
  processed_at: at.nullable(),
  note: text,
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
