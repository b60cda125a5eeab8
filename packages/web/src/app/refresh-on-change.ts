/** Reloads what a change on the hub has made stale, in this tab and in others. */
import type { LiveMessage } from "../api/live.ts";
import { queryClient } from "./query-client.ts";

/** The names of changes are the first parts of the query keys. */
export function refreshOnChange({ kind, data }: LiveMessage): void {
  if (kind !== "change") return;
  const { topic } = data as { topic?: string };
  if (topic) void queryClient.invalidateQueries({ queryKey: [topic] });
}
