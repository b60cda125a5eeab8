/** The views of the API: the types of the hub's own schemas. Only types are imported, no code. */
import type { z } from "zod";
import type { flowSummary, flowView } from "../../../hub/src/api/views.ts";
import type {
  eventSchema,
  explainedSchema,
  summarySchema,
} from "../../../hub/src/inbox/event-schema.ts";

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

export type EventSummary = z.output<typeof summarySchema>;
export type EventView = z.output<typeof eventSchema>;
export type ExplainedTrigger = z.output<typeof explainedSchema>;
export type Flow = z.output<typeof flowView>;
export type FlowSummary = z.output<typeof flowSummary>;

/** Who is signed in, and at which hub. */
export interface Session {
  tenant: string;
  scopes: string[];
  hub: { version: string; url: string };
}
