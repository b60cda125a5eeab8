/** A new run from the trigger of a past one: with the same input or event, or with another input. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { path, type Query } from "../api/client.ts";
import type { EventView } from "../api/types.ts";
import type { RunView } from "./run-data.ts";

export type PastRun = Pick<RunView, "id" | "flow_id" | "trigger_node" | "version" | "event_id">;

export interface ReplayRequest {
  target: string;
  query?: Query;
  body: object;
}

/** Negative versions are runs of the draft. */
export const isDraft = ({ version }: Pick<RunView, "version">): boolean => version < 0;

/** Without `input`, the run must have been started by an event, which is used again. */
export function replayRequest(run: PastRun, input: JsonObject | undefined): ReplayRequest {
  const { flow_id, trigger_node: trigger, event_id } = run;
  const target = path`/api/flows/${flow_id}/runs`;
  const isSame = input === undefined && event_id !== null;
  if (isDraft(run))
    return {
      target,
      query: { draft: true },
      body: isSame ? { trigger, event: event_id } : { trigger, input: input ?? {} },
    };
  if (isSame) return { target: path`/api/events/${event_id}/replay`, body: { flow: flow_id } };
  return { target, body: { trigger, input: input ?? {} } };
}

/** The run that a request has started; undefined if the event matches no trigger any more. */
export function startedRun(response: {
  id?: string;
  runs?: readonly { run_id: string }[];
}): string | undefined {
  return response.id ?? response.runs?.[0]?.run_id;
}

/** An event as `{{ trigger }}`. */
export const eventInput = (event: EventView): JsonObject => ({
  id: event.id,
  source: event.source,
  external_id: event.external_id,
  type: event.type,
  received_at: event.received_at,
  data: event.payload as JsonObject,
});
