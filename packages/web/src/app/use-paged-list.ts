/** A live list: pages, the newest state of what is shown, and the number of new items. */
import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { LiveMessage } from "../api/live.ts";
import type { Page } from "../api/types.ts";
import { useLive } from "../api/use-live.ts";
import { type ListOf, mergeNewest, syncNewest } from "./paged-list.ts";
import { queryClient } from "./query-client.ts";
import { useThrottled } from "./use-throttled.ts";

export const PAGE_SIZE = 100;
/** Longer lists have more height than browsers can scroll smoothly; the list then continues by time. */
export const MAX_ROWS = 20_000;
/** About one request in this time, however much changes. */
const REFRESH_MS = 1_500;

let localChanges = 0;
/** What the page has changed wins over answers to requests that were sent before. */
export function countLocalChange(): void {
  localChanges += 1;
}

type Data<Item> = InfiniteData<Page<Item>, string | undefined>;

export interface PagedList<Item> extends ListOf<Item> {
  /** Not the topic of a change: only the newest page is compared with the hub. */
  queryKey: readonly unknown[];
  fetchPage: (cursor?: string, signal?: AbortSignal) => Promise<Page<Item>>;
  /** The topic of the live stream, and which of its messages concern the list. */
  topic: string;
  concerns: (message: LiveMessage) => boolean;
  isShown?: (item: Item) => boolean;
  /** Rows that no longer match the filter leave the list by themselves. */
  isSynced?: boolean;
  onRefresh?: () => void;
}

export function usePagedList<Item extends { id: string }>(list: PagedList<Item>) {
  const { queryKey, fetchPage, topic, concerns, isShown, isSynced, onRefresh } = list;
  const key = JSON.stringify(queryKey);
  const [added, setAdded] = useState(0);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page, pages) =>
      pages.length * PAGE_SIZE >= MAX_ROWS ? undefined : (page.next_cursor ?? undefined),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnWindowFocus: false,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says which items are shown
  const items = useMemo(() => {
    const all = query.data?.pages.flatMap(({ items }) => items) ?? [];
    return isShown ? all.filter(isShown) : all;
  }, [query.data, key]);

  /** Starts the list again at the newest item. */
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is compared by its value
  const showNew = useCallback(async () => {
    setAdded(0);
    await queryClient.resetQueries({ queryKey });
  }, [key]);

  const isEmpty = query.isSuccess && items.length === 0;
  const latestKey = useRef(key);
  useEffect(() => {
    latestKey.current = key;
  }, [key]);
  const refresh = useThrottled(async () => {
    const shownNow = () => queryClient.getQueryData<Data<Item>>(queryKey);
    if (!shownNow() || document.hidden) return;
    onRefresh?.();
    let newest: Page<Item>;
    let before: number;
    do {
      before = localChanges;
      newest = await fetchPage();
    } while (localChanges !== before);
    // Meanwhile the list may have grown, started again, or given way to another one.
    const shown = shownNow();
    if (!shown || latestKey.current !== key) return;
    const { pages, added } = (isSynced ? syncNewest : mergeNewest)(list, shown, newest);
    if (pages !== shown) queryClient.setQueryData(queryKey, pages as Data<Item>);
    // Nothing can move under the pointer in an empty list.
    if (added > 0 && isEmpty) await showNew();
    else setAdded(added);
  }, REFRESH_MS);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has other new items
  useEffect(() => setAdded(0), [key]);
  useLive(topic, (message) => {
    if (concerns(message)) refresh();
  });
  useEffect(() => {
    const onVisible = () => !document.hidden && refresh();
    document.addEventListener("visibilitychange", onVisible);
    return () => document.removeEventListener("visibilitychange", onVisible);
  }, [refresh]);

  return { ...query, items, added, showNew, refresh };
}
