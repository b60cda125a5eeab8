/** A list that the hub returns in pages. The loaded pages are reloaded every ten seconds. */

import type { Page } from "@signalbox/contract";
import { useInfiniteQuery } from "@tanstack/react-query";
import { PAGE_SIZE } from "./use-paged-list.ts";

const REFRESH_MS = 10_000;

export const usePages = <Item>(
  queryKey: readonly string[],
  fetchPage: (query: { limit: number; cursor: string | undefined }) => Promise<Page<Item>>,
) =>
  useInfiniteQuery({
    queryKey: [...queryKey, "pages"],
    queryFn: ({ pageParam }) => fetchPage({ limit: PAGE_SIZE, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
    refetchInterval: REFRESH_MS,
  });
