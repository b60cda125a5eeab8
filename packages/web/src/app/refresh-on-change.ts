/** Reloads what a change on the hub has made stale, whoever made it. */
import type { LiveMessage } from "../api/live.ts";
import { isOutage } from "../api/problem.ts";
import { queryClient } from "./query-client.ts";
import { spread } from "./spread.ts";
import { isStale, mergeChange } from "./stale.ts";

/** About one reload in this time, however much changes. */
const REFRESH_MS = 1_000;
let changes: ReturnType<typeof mergeChange> = new Map();
let isPlanned = false;

function refresh(): void {
  isPlanned = false;
  const merged = changes;
  changes = new Map();
  void queryClient.invalidateQueries({ predicate: ({ queryKey }) => isStale(queryKey, merged) });
}

export function refreshOnChange({ kind, data }: LiveMessage): void {
  // The hub responds again: load what is missing because of an outage.
  if (kind === "connected")
    void queryClient.refetchQueries({
      type: "active",
      predicate: ({ state: { data, error } }) => data === undefined && isOutage(error),
    });
  if (kind !== "change") return;
  changes = mergeChange(changes, data as { topic: string; ids?: string[] });
  if (!isPlanned) setTimeout(refresh, spread(REFRESH_MS));
  isPlanned = true;
}
