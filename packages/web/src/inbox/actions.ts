/** What can be done with events. Marks can be undone. */
import { api, path } from "../api/client.ts";
import type { BulkResult, ReplayResult } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { patchEvents } from "./use-events.ts";

/** The hub accepts so many events in one request. */
const MAX_IDS = { processed: 500, waiting: 500, replay: 50 } as const;

async function bulk(
  ids: readonly string[],
  action: keyof typeof MAX_IDS,
): Promise<Pick<BulkResult, "ids" | "runs">> {
  const done = { ids: [] as string[], runs: 0 };
  for (let at = 0; at < ids.length; at += MAX_IDS[action]) {
    const part = ids.slice(at, at + MAX_IDS[action]);
    const result = await api.post<BulkResult>("/api/events/bulk", { ids: part, action });
    done.ids.push(...result.ids);
    done.runs += result.runs;
  }
  return done;
}

const refresh = (ids: readonly string[]) => {
  for (const id of ids) void queryClient.invalidateQueries({ queryKey: ["events", id] });
  void queryClient.invalidateQueries({ queryKey: ["stats"] });
};

/** Marks events as processed, or as waiting again. The list changes at once and is put right on failure. */
export async function mark(ids: readonly string[], processed: boolean): Promise<void> {
  patchEvents(ids, { processed });
  try {
    const { ids: changed } = await bulk(ids, processed ? "processed" : "waiting");
    refresh(ids);
    if (changed.length === 0) return;
    toasts.add({
      aspect: "green",
      title: `${plural(changed.length, "event")} marked as ${processed ? "processed" : "waiting"}`,
      undo: () => void mark(changed, !processed),
    });
  } catch (error) {
    patchEvents(ids, { processed: !processed });
    toastError(error);
  }
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

export async function replayAll(ids: readonly string[]): Promise<void> {
  try {
    const { ids: replayed, runs } = await bulk(ids, "replay");
    toasts.add({
      aspect: runs > 0 ? "lunar" : "none",
      title: `${plural(replayed.length, "event")} replayed, ${plural(runs, "run")} started`,
    });
    refresh(ids);
    void queryClient.invalidateQueries({ queryKey: ["runs"] });
  } catch (error) {
    toastError(error);
  }
}
