/** The numbers that the navigation shows beside the names of pages. */

import type { Page } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { statsQuery } from "../inbox/inbox-header.tsx";
import { count } from "../ui/format.ts";
import { useIsAdmin } from "./session.ts";

const MAX_COUNTED = 100;

/** Returns the number of items, such as `7`, or `100+` if the list has more items than one page. */
const useCount = (
  list: string,
  enabled: boolean,
  query: { limit?: number } = {},
): string | undefined =>
  useQuery({
    enabled,
    queryKey: [list, "count"],
    queryFn: () => api.get<Page<unknown>>(`/api/${list}`, query),
    select: ({ items, next_cursor }: Page<unknown>) =>
      items.length === 0 ? undefined : `${items.length}${next_cursor ? "+" : ""}`,
  }).data;

export function useCounts(): Record<string, string | undefined> {
  const isAdmin = useIsAdmin();
  const pending = useQuery(statsQuery).data?.events.pending;
  return {
    "/inbox": pending ? count(pending) : undefined,
    "/flows": useCount("flows", isAdmin, { limit: MAX_COUNTED }),
    "/connections": useCount("connections", isAdmin, { limit: MAX_COUNTED }),
    // The hub returns all sources in one page.
    "/sources": useCount("sources", isAdmin),
  };
}
