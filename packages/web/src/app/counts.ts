/** The numbers that the navigation shows beside the names of pages. */

import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { statsQuery } from "../inbox/inbox-header.tsx";
import { count } from "../ui/format.ts";
import { useIsAdmin } from "./session.ts";

const query = { limit: 100 };

/** Returns the number of items, such as `7`, or `100+` if the list has more items than one page. */
const useCount = (
  list: string,
  enabled: boolean,
  fetchPage: () => Promise<{ items: unknown[]; next_cursor?: string | null }>,
): string | undefined =>
  useQuery({
    enabled,
    queryKey: [list, "count"],
    queryFn: fetchPage,
    select: ({ items, next_cursor }) =>
      items.length === 0 ? undefined : `${items.length}${next_cursor ? "+" : ""}`,
  }).data;

export function useCounts(): Record<string, string | undefined> {
  const isAdmin = useIsAdmin();
  const pending = useQuery(statsQuery).data?.events.pending;
  return {
    "/inbox": pending ? count(pending) : undefined,
    "/flows": useCount("flows", isAdmin, () => api.get("/api/flows", { query })),
    "/connections": useCount("connections", isAdmin, () => api.get("/api/connections", { query })),
    // The hub returns all sources in one page.
    "/sources": useCount("sources", isAdmin, () => api.get("/api/sources")),
  };
}
