/** Reloads the queries that a change on the hub has made stale. Any client can have made the change. */
import type { LiveMessage } from "../api/live.ts";
import { isOutage } from "../api/problem.ts";
import { jitter } from "./jitter.ts";
import { queryClient } from "./query-client.ts";
import { isStale, mergeChange } from "./stale.ts";

/** Changes are collected, so that there is about one reload in this time. */
const REFRESH_MS = 1_000;
let changes: ReturnType<typeof mergeChange> = new Map();
let isScheduled = false;

function refresh(): void {
  isScheduled = false;
  const merged = changes;
  changes = new Map();
  void queryClient.invalidateQueries({ predicate: ({ queryKey }) => isStale(queryKey, merged) });
}

export function refreshOnChange(message: LiveMessage): void {
  // The hub responds again: load the queries that failed because of an outage.
  if (message.kind === "connected")
    void queryClient.refetchQueries({
      type: "active",
      predicate: ({ state: { data, error } }) => data === undefined && isOutage(error),
    });
  if (message.kind !== "change") return;
  changes = mergeChange(changes, message.data);
  if (!isScheduled) setTimeout(refresh, jitter(REFRESH_MS));
  isScheduled = true;
}
