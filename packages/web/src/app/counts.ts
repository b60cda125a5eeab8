/** The numbers beside the pages of the navigation. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import type { Page } from "../api/types.ts";
import { statsQuery } from "../inbox/strip.tsx";
import { count } from "../ui/format.ts";
import { useIsAdmin } from "./session.ts";

const MAX_COUNTED = 100;

/** `7`, or `100+` if there are more than one page has. */
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
    // All of them are one page.
    "/sources": useCount("sources", isAdmin),
  };
}
