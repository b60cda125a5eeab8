/** The triggers of the tenant with their verdicts on an event, in pages. */

import type { Explanation } from "@signalbox/contract";
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";

export type ExplanationQuery = ReturnType<typeof useExplanation>;

export const useExplanation = (event: string) =>
  useInfiniteQuery({
    queryKey: ["events", event, "explain"],
    queryFn: ({ pageParam }) =>
      api.get<Explanation>(path`/api/events/${event}/explain`, { cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    select: ({ pages }) => ({
      items: pages.flatMap(({ items }) => items),
      total: pages.at(-1)?.total ?? 0,
    }),
  });
