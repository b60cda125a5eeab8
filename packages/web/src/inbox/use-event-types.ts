/** Loads the sources and types of recent events. */

import type { EventType } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

const NO_TYPES: readonly EventType[] = [];

export function useEventTypes(): readonly EventType[] {
  const { data } = useQuery({
    queryKey: ["event-types"],
    queryFn: () => api.get("/api/event-types"),
    staleTime: 60_000,
  });
  return data?.items ?? NO_TYPES;
}
