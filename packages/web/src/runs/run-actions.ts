/** Retries, cancels and replays runs. */

import type { JsonObject } from "@signalbox/rules/json.ts";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { type ReplayableRun, replayRequest, startedRunId } from "./replay.ts";
import type { RunFields } from "./run-data.ts";

/** The hub accepts at most this many runs in one request. */
const MAX_IDS = 100;
const PAST_TENSE = { retry: "retried", cancel: "cancelled" } as const;
const CONDITIONS = {
  retry: "Only runs that have failed or were cancelled can be retried.",
  cancel: "Only runs that have not ended can be cancelled.",
} as const;

const refresh = () => void queryClient.invalidateQueries({ queryKey: ["runs"] });

export async function changeRuns(
  ids: readonly string[],
  action: "retry" | "cancel",
): Promise<void> {
  const changed: string[] = [];
  try {
    for (let start = 0; start < ids.length; start += MAX_IDS) {
      const batch = ids.slice(start, start + MAX_IDS);
      changed.push(...(await api.post("/api/runs/bulk", { body: { ids: batch, action } })).ids);
    }
    toasts.add({
      aspect: changed.length > 0 ? "lunar" : "none",
      title: `${plural(changed.length, "run")} ${PAST_TENSE[action]}`,
      ...(changed.length < ids.length && { detail: CONDITIONS[action] }),
    });
  } catch (error) {
    toastError(error);
  }
  refresh();
}

/** Returns the changed run. */
export const changeRun = (id: string, action: "retry" | "cancel"): Promise<RunFields> =>
  api.post(`/api/runs/:run/${action}`, { params: { run: id } });

/** Starts a new run. Returns its id; undefined if the event no longer matches the trigger. */
export async function replayRun(
  run: ReplayableRun,
  input?: JsonObject,
): Promise<string | undefined> {
  const request = replayRequest(run, input ?? (await inputOf(run)));
  const response = await (request.path === "/api/events/:event/replay"
    ? api.post(request.path, request.options)
    : api.post(request.path, request.options));
  refresh();
  return startedRunId(response);
}

/** The whole input; undefined if the run was started by an event. */
const inputOf = async ({ id, event_id }: ReplayableRun): Promise<JsonObject | undefined> =>
  event_id === null ? await api.get("/api/runs/:run/input", { params: { run: id } }) : undefined;

/** Replays the runs one after the other, to limit the load on the systems that they call. */
export async function replayRuns(
  runs: readonly ReplayableRun[],
  onProgress: (position: number) => void,
): Promise<void> {
  let started = 0;
  const failures: unknown[] = [];
  for (const [index, run] of runs.entries()) {
    onProgress(index + 1);
    await replayRun(run).then(
      (id) => {
        if (id !== undefined) started += 1;
      },
      (error: unknown) => failures.push(error),
    );
  }
  if (failures.length > 0) toastError(failures[0]);
  if (started > 0 || failures.length === 0)
    toasts.add({
      aspect: started > 0 ? "lunar" : "none",
      title: `${plural(started, "run")} started`,
      ...(started < runs.length && {
        detail: `${plural(runs.length - started, "run")} could not be replayed: the flow was deleted or changed, or its triggers no longer match the event.`,
      }),
    });
}
