/** The list of runs. */
import { useEffect } from "react";
import { api } from "../api/client.ts";
import type { Page, RunItem } from "../api/types.ts";
import { PAGE_SIZE, usePagedList } from "../app/use-paged-list.ts";
import { type RunFilter, toRunQuery, writeRunFilter } from "./run-filter.ts";

/** The hub announces the end of a run, but not that it was started or waits. */
const REFRESH_MS = 5_000;

export function useRuns(filter: RunFilter) {
  const list = usePagedList<RunItem>({
    orderOf: ({ id }) => id,
    isSame: (a, b) => a.status === b.status && a.started_at === b.started_at,
    queryKey: ["run-list", writeRunFilter(filter)],
    fetchPage: (cursor, signal) =>
      api.get<Page<RunItem>>(
        "/api/runs",
        { ...toRunQuery(filter, Date.now()), limit: PAGE_SIZE, cursor },
        signal,
      ),
    topic: "changes",
    concerns: ({ kind, data }) =>
      kind === "change" && ["events", "runs"].includes((data as { topic: string }).topic),
    // A run that is retried has not failed any more, and one that ends is not under way.
    isSynced: true,
  });
  const { refresh } = list;
  useEffect(() => {
    const timer = setInterval(refresh, REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return list;
}
export type RunPages = ReturnType<typeof useRuns>;
