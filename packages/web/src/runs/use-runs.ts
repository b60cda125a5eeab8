/** Loads the list of runs, and keeps it up to date. */

import type { RunItem } from "@signalbox/contract";
import { useEffect } from "react";
import { api } from "../api/client.ts";
import { PAGE_SIZE, usePagedList } from "../app/use-paged-list.ts";
import { type RunFilter, toRunQuery, writeRunFilter } from "./run-filter.ts";

/** The live stream reports the end of a run, but not its start or its waits, so the list polls too. */
const REFRESH_MS = 5_000;

export function useRuns(filter: RunFilter) {
  const list = usePagedList<RunItem>({
    orderOf: ({ id }) => id,
    isSame: (a, b) => a.status === b.status && a.started_at === b.started_at,
    queryKey: ["run-list", writeRunFilter(filter)],
    fetchPage: (cursor, signal) =>
      api.get("/api/runs", {
        query: { ...toRunQuery(filter, Date.now()), limit: PAGE_SIZE, cursor },
        signal,
      }),
    topic: "changes",
    concerns: ({ kind, data }) => kind === "change" && data.topic !== "flows",
    // The status of a run can change, so that it no longer matches the filter.
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
