/** The numbers beside the pages of the navigation. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import type { Page } from "../api/types.ts";
import { statsQuery } from "../inbox/strip.tsx";

const countOf = (list: string) => ({
  queryKey: [list, "count"],
  queryFn: async () => (await api.get<Page<unknown>>(`/api/${list}`, { limit: 100 })).items.length,
});

export function useCounts(): Record<string, number | undefined> {
  const flows = useQuery(countOf("flows"));
  const connections = useQuery(countOf("connections"));
  const sources = useQuery({
    ...countOf("sources"),
    queryFn: async () => (await api.get<Page<unknown>>("/api/sources")).items.length,
  });
  const stats = useQuery(statsQuery);
  return {
    "/inbox": stats.data?.events.pending,
    "/flows": flows.data,
    "/connections": connections.data,
    "/sources": sources.data,
  };
}
