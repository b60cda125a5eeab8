/** Retries, cancels and replays runs. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { api, path } from "../api/client.ts";
import type { RunsChanged } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { type PastRun, replayRequest, startedRun } from "./replay.ts";
import type { RunView } from "./run-data.ts";

/** The hub accepts so many runs in one request. */
const MAX_IDS = 100;
const DONE = { retry: "retried", cancel: "cancelled" } as const;
const ONLY = {
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
    for (let at = 0; at < ids.length; at += MAX_IDS) {
      const part = ids.slice(at, at + MAX_IDS);
      changed.push(...(await api.post<RunsChanged>("/api/runs/bulk", { ids: part, action })).ids);
    }
    toasts.add({
      aspect: changed.length > 0 ? "lunar" : "none",
      title: `${plural(changed.length, "run")} ${DONE[action]}`,
      ...(changed.length < ids.length && { detail: ONLY[action] }),
    });
  } catch (error) {
    toastError(error);
  }
  refresh();
}

/** Returns the run as it is afterwards. */
export const changeRun = (id: string, action: "retry" | "cancel"): Promise<RunView> =>
  api.post<RunView>(path`/api/runs/${id}/${action}`);

/** Starts a new run. Returns its id; undefined if the event matches no trigger any more. */
export async function replayRun(run: PastRun, input?: JsonObject): Promise<string | undefined> {
  const { target, query, body } = replayRequest(run, input ?? (await inputOf(run)));
  const response = await api.post<Parameters<typeof startedRun>[0]>(target, body, {
    ...(query && { query }),
  });
  refresh();
  return startedRun(response);
}

/** The whole input; undefined if the run was started by an event. */
const inputOf = async ({ id, event_id }: PastRun): Promise<JsonObject | undefined> =>
  event_id === null
    ? ((await api.get<Json>(path`/api/runs/${id}/input`)) as JsonObject)
    : undefined;

/** Replays one run after the other, so that a mistake does not flood other systems. */
export async function replayRuns(
  runs: readonly PastRun[],
  onProgress: (nth: number) => void,
): Promise<void> {
  let started = 0;
  const failures: unknown[] = [];
  for (const [at, run] of runs.entries()) {
    onProgress(at + 1);
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
        detail: `${plural(runs.length - started, "run")} could not be replayed: the flow was deleted or changed, or nothing matched.`,
      }),
    });
}
