/** What can be done with events. Marks can be undone. */
import { api, path } from "../api/client.ts";
import { ApiError } from "../api/problem.ts";
import type { BulkResult, ReplayResult } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { patchEvents, shownAs } from "./use-events.ts";

/** The hub accepts so many events in one request. */
const MAX_IDS = { processed: 500, waiting: 500, replay: 50 } as const;

interface Done extends Pick<BulkResult, "ids" | "runs"> {
  /** What ended the work early. What was done before stays done. */
  error?: unknown;
}

async function bulk(ids: readonly string[], action: keyof typeof MAX_IDS): Promise<Done> {
  const done: Done = { ids: [], runs: 0 };
  try {
    for (let at = 0; at < ids.length; at += MAX_IDS[action]) {
      const part = ids.slice(at, at + MAX_IDS[action]);
      const result = await api.post<BulkResult>("/api/events/bulk", { ids: part, action });
      done.ids.push(...result.ids);
      done.runs += result.runs;
      const { length: left } = result.not_replayed;
      if (left > 0) done.error = busy(left);
    }
  } catch (error) {
    done.error = error;
  }
  return done;
}

const busy = (count: number) =>
  new ApiError({
    status: 503,
    title: "The hub is busy",
    detail: `${plural(count, "event")} not replayed. Try again later.`,
    code: "busy",
    errors: [],
  });

function refresh(ids: readonly string[]): void {
  const changed = new Set<unknown>(ids);
  void queryClient.invalidateQueries({
    predicate: ({ queryKey: [topic, id] }) =>
      topic === "stats" || (topic === "events" && changed.has(id)),
  });
}

/**
 * Marks events as processed, or as waiting again. The list changes at once and is put right on
 * failure. Returns whether all of them were marked.
 */
export async function mark(ids: readonly string[], processed: boolean): Promise<boolean> {
  const changing = shownAs(!processed, ids);
  patchEvents(ids, { processed });
  const { ids: changed, error } = await bulk(ids, processed ? "processed" : "waiting");
  // Again: meanwhile the list may have got the state from before.
  patchEvents(changed, { processed });
  if (error !== undefined) {
    const isMarked = new Set(changed);
    patchEvents(
      changing.filter((id) => !isMarked.has(id)),
      { processed: !processed },
    );
    toastError(error);
  }
  refresh(ids);
  if (changed.length > 0)
    toasts.add({
      aspect: "green",
      title: `${plural(changed.length, "event")} marked as ${processed ? "processed" : "waiting"}`,
      undo: () => void mark(changed, !processed),
    });
  return error === undefined;
}

export async function replayEvent(id: string): Promise<void> {
  try {
    const { runs, considered } = await api.post<ReplayResult>(path`/api/events/${id}/replay`);
    toasts.add(
      runs.length > 0
        ? { aspect: "lunar", title: `${plural(runs.length, "run")} started` }
        : {
            title: "No trigger matched, so no run started",
            detail:
              considered === 0
                ? "No published flow listens to events of this source and type."
                : `${plural(considered, "trigger")} considered. “Why” shows the reasons.`,
          },
    );
    refresh([id]);
    void queryClient.invalidateQueries({ queryKey: ["runs"] });
  } catch (error) {
    toastError(error);
  }
}

/** Returns whether all events were replayed. */
export async function replayAll(ids: readonly string[]): Promise<boolean> {
  const { ids: replayed, runs, error } = await bulk(ids, "replay");
  if (error !== undefined) toastError(error);
  if (replayed.length > 0)
    toasts.add({
      aspect: runs > 0 ? "lunar" : "none",
      title: `${plural(replayed.length, "event")} replayed, ${plural(runs, "run")} started`,
    });
  refresh(ids);
  void queryClient.invalidateQueries({ queryKey: ["runs"] });
  return error === undefined;
}
