/** Loads the newest runs in one request for all rows, and groups them by the event that started them. */

import type { RunItem } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { api } from "../api/client.ts";

const NO_RUNS: readonly RunItem[] = [];
const isActive = ({ finished_at }: RunItem) => finished_at === null;

/**
 * Returns a function that returns the runs of an event. The arrays stay the same until a run changes, so
 * that memoized rows do not render again.
 */
export function useEventRuns(): (eventId: string) => readonly RunItem[] {
  const { data } = useQuery({
    queryKey: ["runs", "newest"],
    queryFn: () => api.get("/api/runs", { query: { limit: 100 } }),
    // The live stream reports changes. Polling also finds those that a broken stream does not report.
    refetchInterval: ({ state }) => (state.data?.items.some(isActive) ? 2_000 : false),
  });
  const byEvent = useMemo(() => {
    const groups = new Map<string, RunItem[]>();
    for (const run of data?.items ?? [])
      if (run.event_id !== null)
        groups.set(run.event_id, [...(groups.get(run.event_id) ?? []), run]);
    return groups;
  }, [data]);
  return useCallback((id) => byEvent.get(id) ?? NO_RUNS, [byEvent]);
}
