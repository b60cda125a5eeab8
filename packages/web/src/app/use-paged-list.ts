/** A list that is loaded in pages. The live stream updates its rows and the number of new items. */

import type { Page } from "@signalbox/contract";
import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { LiveMessage } from "../api/live.ts";
import { useLive } from "../api/use-live.ts";
import { type ItemOrder, mergeNewest, syncNewest } from "./paged-list.ts";
import { queryClient } from "./query-client.ts";
import { useThrottled } from "./use-throttled.ts";

export const PAGE_SIZE = 100;
/** Browsers cannot scroll longer lists smoothly, so no more pages are loaded. */
export const MAX_ROWS = 20_000;
/** Changes are collected, so that there is about one request in this time. */
const REFRESH_MS = 1_500;

let localChanges = 0;
/** Call it when the page changes an item. Lists then discard responses to requests that are in flight. */
export function countLocalChange(): void {
  localChanges += 1;
}

type Data<Item> = InfiniteData<Page<Item>, string | undefined>;

export interface PagedList<Item> extends ItemOrder<Item> {
  /** Must not start with a topic of changes, which would reload all pages instead of the newest one. */
  queryKey: readonly unknown[];
  fetchPage: (cursor?: string, signal?: AbortSignal) => Promise<Page<Item>>;
  /** The topic of the live stream. */
  topic: string;
  /** Whether the list must be refreshed after this message. */
  concerns: (message: LiveMessage) => boolean;
  isShown?: (item: Item) => boolean;
  /** Whether rows that no longer match the filter are removed; see `syncNewest`. */
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: `isShown` changes only with the key
  const items = useMemo(() => {
    const all = query.data?.pages.flatMap(({ items }) => items) ?? [];
    return isShown ? all.filter(isShown) : all;
  }, [query.data, key]);

  /** Loads the list again, from the newest item on. */
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
    const getShown = () => queryClient.getQueryData<Data<Item>>(queryKey);
    if (!getShown() || document.hidden) return;
    onRefresh?.();
    let newest: Page<Item>;
    let changesBefore: number;
    do {
      changesBefore = localChanges;
      newest = await fetchPage();
    } while (localChanges !== changesBefore);
    // Meanwhile the list may have grown, been reset, or been replaced by another list.
    const shown = getShown();
    if (!shown || latestKey.current !== key) return;
    const { pages, added } = (isSynced ? syncNewest : mergeNewest)(list, shown, newest);
    if (pages !== shown) queryClient.setQueryData(queryKey, pages as Data<Item>);
    // An empty list shows new items immediately: it has no rows that they could move.
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
