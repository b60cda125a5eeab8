/** The request that replays a run: it starts a run from the same trigger, with the same event or with an input. */

import type { EventView } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { path, type Query } from "../api/client.ts";
import type { RunFields } from "./run-data.ts";

export type ReplayableRun = Pick<
  RunFields,
  "id" | "flow_id" | "trigger_node" | "version" | "event_id"
>;

export interface ReplayRequest {
  target: string;
  query?: Query;
  body: object;
}

/** Runs of the draft have negative versions. */
export const isDraft = ({ version }: Pick<RunFields, "version">): boolean => version < 0;

/** Without `input`, the new run uses the event that started this run. */
export function replayRequest(run: ReplayableRun, input: JsonObject | undefined): ReplayRequest {
  const { flow_id, trigger_node: trigger, event_id } = run;
  const target = path`/api/flows/${flow_id}/runs`;
  const isSameEvent = input === undefined && event_id !== null;
  if (isDraft(run))
    return {
      target,
      query: { draft: true },
      body: isSameEvent ? { trigger, event: event_id } : { trigger, input: input ?? {} },
    };
  if (isSameEvent)
    return { target: path`/api/events/${event_id}/replay`, body: { flow: flow_id, trigger } };
  return { target, body: { trigger, input: input ?? {} } };
}

/** Returns the id of the run that a request has started; undefined if the event no longer matches the trigger. */
export function startedRunId(response: {
  id?: string;
  runs?: readonly { run_id: string }[];
}): string | undefined {
  return response.id ?? response.runs?.[0]?.run_id;
}

/** Converts an event to the input of a run, as `{{ trigger }}` reads it. */
export const eventInput = (event: EventView): JsonObject => ({
  id: event.id,
  source: event.source,
  external_id: event.external_id,
  type: event.type,
  received_at: event.received_at,
  data: event.payload as JsonObject,
});
