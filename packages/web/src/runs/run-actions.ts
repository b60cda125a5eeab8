/** Retries or cancels runs. */
import { api } from "../api/client.ts";
import type { RunsChanged } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";

/** The hub accepts so many runs in one request. */
const MAX_IDS = 100;
const DONE = { retry: "retried", cancel: "cancelled" } as const;
const ONLY = {
  retry: "Only runs that have failed or were cancelled can be retried.",
  cancel: "Only runs that have not ended can be cancelled.",
} as const;

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
  void queryClient.invalidateQueries({ queryKey: ["runs"] });
}
