/** The newest runs by the event that started them, in one request for all rows. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { api } from "../api/client.ts";
import type { Page, RunItem } from "../api/types.ts";

export type EventRun = RunItem;

const NO_RUNS: readonly EventRun[] = [];
const isActive = ({ finished_at }: EventRun) => finished_at === null;

/** Returns a stable array for each event, so that rows are drawn only when their runs change. */
export function useEventRuns(): (eventId: string) => readonly EventRun[] {
  const { data } = useQuery({
    queryKey: ["runs", "newest"],
    queryFn: () => api.get<Page<EventRun>>("/api/runs", { limit: 100 }),
    // Changes are pushed; this only covers a stream that is lost.
    refetchInterval: ({ state }) => (state.data?.items.some(isActive) ? 2_000 : false),
  });
  const byEvent = useMemo(() => {
    const map = new Map<string, EventRun[]>();
    for (const run of data?.items ?? [])
      if (run.event_id !== null) map.set(run.event_id, [...(map.get(run.event_id) ?? []), run]);
    return map;
  }, [data]);
  return useCallback((id) => byEvent.get(id) ?? NO_RUNS, [byEvent]);
}
