/** The actions on events: mark as processed or as waiting, with an undo, and replay. */

import type { BulkResult } from "@signalbox/contract";
import { api } from "../api/client.ts";
import { ApiError } from "../api/problem.ts";
import { queryClient } from "../app/query-client.ts";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { findShownAs, patchEvents } from "./use-events.ts";

/** The maximum number of events in one request, which the hub enforces. */
const MAX_IDS = { processed: 500, waiting: 500, replay: 50 } as const;

interface BatchesResult extends Pick<BulkResult, "ids" | "runs"> {
  /** Set if a request failed, which skips the remaining batches, or if some events were not replayed. */
  error?: unknown;
}

async function sendInBatches(
  ids: readonly string[],
  action: keyof typeof MAX_IDS,
): Promise<BatchesResult> {
  const total: BatchesResult = { ids: [], runs: 0 };
  try {
    for (let start = 0; start < ids.length; start += MAX_IDS[action]) {
      const batch = ids.slice(start, start + MAX_IDS[action]);
      const result = await api.post("/api/events/bulk", { body: { ids: batch, action } });
      total.ids.push(...result.ids);
      total.runs += result.runs;
      const { length: notReplayed } = result.not_replayed;
      if (notReplayed > 0) total.error = busyError(notReplayed);
    }
  } catch (error) {
    total.error = error;
  }
  return total;
}

const busyError = (count: number) =>
  new ApiError({
    status: 503,
    title: "The hub is busy",
    detail: `${plural(count, "event")} not replayed. Try again later.`,
    code: "busy",
    errors: [],
  });

function refetchEvents(ids: readonly string[]): void {
  const changed = new Set<unknown>(ids);
  void queryClient.invalidateQueries({
    predicate: ({ queryKey: [topic, id] }) =>
      topic === "stats" || (topic === "events" && changed.has(id)),
  });
}

/**
 * Marks events as processed, or as waiting again. The lists show the new state immediately. If a
 * request fails, the events that it did not mark get their previous state back. Returns true if no
 * request failed.
 */
export async function markEvents(ids: readonly string[], processed: boolean): Promise<boolean> {
  const changing = findShownAs(!processed, ids);
  patchEvents(ids, { processed });
  const { ids: changed, error } = await sendInBatches(ids, processed ? "processed" : "waiting");
  // A list that was loaded while the requests were in flight may have the previous state.
  patchEvents(changed, { processed });
  if (error !== undefined) {
    const isMarked = new Set(changed);
    patchEvents(
      changing.filter((id) => !isMarked.has(id)),
      { processed: !processed },
    );
    toastError(error);
  }
  refetchEvents(ids);
  if (changed.length > 0)
    toasts.add({
      aspect: "green",
      title: `${plural(changed.length, "event")} marked as ${processed ? "processed" : "waiting"}`,
      undo: () => void markEvents(changed, !processed),
    });
  return error === undefined;
}

export async function replayEvent(id: string): Promise<void> {
  try {
    const { runs, considered } = await api.post("/api/events/:event/replay", {
      params: { event: id },
      body: {},
    });
    toasts.add(
      runs.length > 0
        ? { aspect: "lunar", title: `${plural(runs.length, "run")} started` }
        : {
            title: "No trigger matched, so no run started",
            detail:
              considered === 0
                ? "No published flow listens to events of this source and type."
                : `${plural(considered, "trigger")} considered. The tab “Why” shows the reasons.`,
          },
    );
    refetchEvents([id]);
    void queryClient.invalidateQueries({ queryKey: ["runs"] });
  } catch (error) {
    toastError(error);
  }
}

/** Returns false if a request failed, or if the hub was too busy to replay all events. */
export async function replayEvents(ids: readonly string[]): Promise<boolean> {
  const { ids: replayed, runs, error } = await sendInBatches(ids, "replay");
  if (error !== undefined) toastError(error);
  if (replayed.length > 0)
    toasts.add({
      aspect: runs > 0 ? "lunar" : "none",
      title: `${plural(replayed.length, "event")} replayed, ${plural(runs, "run")} started`,
    });
  refetchEvents(ids);
  void queryClient.invalidateQueries({ queryKey: ["runs"] });
  return error === undefined;
}
