/** The request that replays a run: it starts a run from the same trigger, with the same event or with an input. */

import type { EventView, ReplayResult, Routes } from "@signalbox/contract";
import type { RequestOptions, RouteAt } from "@signalbox/contract/client.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { RunFields } from "./run-data.ts";

export type ReplayableRun = Pick<
  RunFields,
  "id" | "flow_id" | "trigger_node" | "version" | "event_id"
>;

type PostRequest<Path extends Extract<Routes, { method: "post" }>["path"]> = {
  path: Path;
  options: RequestOptions<RouteAt<Routes, "post", Path>>;
};
export type ReplayRequest =
  | PostRequest<"/api/flows/:flow/runs">
  | PostRequest<"/api/events/:event/replay">;

/** Runs of the draft have negative versions. */
export const isDraft = ({ version }: Pick<RunFields, "version">): boolean => version < 0;

/** Without `input`, the new run uses the event that started this run. */
export function replayRequest(run: ReplayableRun, input: JsonObject | undefined): ReplayRequest {
  const { flow_id, trigger_node: trigger, event_id } = run;
  const path = "/api/flows/:flow/runs";
  const params = { flow: flow_id };
  const isSameEvent = input === undefined && event_id !== null;
  if (isDraft(run))
    return {
      path,
      options: {
        params,
        query: { draft: "1" },
        body: isSameEvent ? { trigger, event: event_id } : { trigger, input: input ?? {} },
      },
    };
  if (isSameEvent)
    return {
      path: "/api/events/:event/replay",
      options: { params: { event: event_id }, body: { flow: flow_id, trigger } },
    };
  return { path, options: { params, body: { trigger, input: input ?? {} } } };
}

/** Returns the id of the run that a request has started; undefined if the event no longer matches the trigger. */
export const startedRunId = (
  response: { id: string } | Pick<ReplayResult, "runs">,
): string | undefined => ("id" in response ? response.id : response.runs[0]?.run_id);

/** Converts an event to the input of a run, as `{{ trigger }}` reads it. */
export const eventInput = (event: EventView): JsonObject => ({
  id: event.id,
  source: event.source,
  external_id: event.external_id,
  type: event.type,
  received_at: event.received_at,
  data: event.payload as JsonObject,
});
