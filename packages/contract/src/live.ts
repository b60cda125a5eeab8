/**
 * The messages of the live streams. They are types, not schemas: the hub serializes an event once for all
 * streams, and clients ignore messages that they do not know.
 */
import type { EventItem, EventSummary } from "./events.ts";
import type { RunView, Step } from "./runs.ts";

/** A new event in the stream `/events`. */
export interface StreamedEvent {
  event_id: string;
  type: string;
  source: string;
  seq: number;
  summary: EventSummary;
}

/** The data of the messages of `/api/live`, by their kind. */
export interface LiveData {
  connected: Record<string, never>;
  event: EventItem;
  /** Something has changed; without `ids`, any item of the topic. */
  change: { topic: "events" | "runs" | "flows"; ids?: string[] };
  /** The fields of a run, and its new and changed steps. Only the first message has the input. */
  run_step: Omit<RunView, "input"> & { run: string; input?: RunView["input"]; steps: Step[] };
  /** The draft of a flow has a new revision. */
  draft: { flow: string; revision: number };
  /** The warnings of a flow have changed, although its draft has not. */
  warnings: { flow: string };
  truncated: { reason: "pruned" | "ahead" };
}

export type LiveMessage = {
  [Kind in keyof LiveData]: { kind: Kind; data: LiveData[Kind] };
}[keyof LiveData];
