/** The triggers of the tenant with their verdicts on an event, in pages. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

export type ExplanationQuery = ReturnType<typeof useExplanation>;

export const useExplanation = (event: string) =>
  useInfiniteQuery({
    queryKey: ["events", event, "explain"],
    queryFn: ({ pageParam }) =>
      api.get("/api/events/:event/explain", { params: { event }, query: { cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    select: ({ pages }) => ({
      items: pages.flatMap(({ items }) => items),
      total: pages.at(-1)?.total ?? 0,
    }),
  });
