/** The list of events: pages, the newest state of what is shown, and the number of new events. */
import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api } from "../api/client.ts";
import type { EventItem, Page } from "../api/types.ts";
import { useLive } from "../api/use-live.ts";
import { queryClient } from "../app/query-client.ts";
import { mergeNewest, patch } from "./event-list.ts";
import { type Filter, toListQuery, writeFilter } from "./filter.ts";

const PAGE_SIZE = 100;
/** Longer lists have more height than browsers can scroll smoothly; the list then continues by time. */
export const MAX_ROWS = 20_000;
/** At most one request in this time, however many events arrive. */
const REFRESH_MS = 1_500;

type Data = InfiniteData<Page<EventItem>, string | undefined>;
const listKey = (filter: Filter) => ["event-list", writeFilter(filter)];

const fetchPage = (filter: Filter, cursor?: string, signal?: AbortSignal) =>
  api.get<Page<EventItem>>(
    "/api/events",
    { ...toListQuery(filter, Date.now()), limit: PAGE_SIZE, cursor },
    signal,
  );

export function useEvents(filter: Filter) {
  const key = useMemo(() => listKey(filter), [filter]);
  const [added, setAdded] = useState(0);
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => fetchPage(filter, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page, pages) =>
      pages.length * PAGE_SIZE >= MAX_ROWS ? undefined : (page.next_cursor ?? undefined),
    // Only the newest page is compared with the hub; see `refresh`.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnWindowFocus: false,
  });
  const events = useMemo(
    () =>
      (query.data?.pages ?? [])
        .flatMap(({ items }) => items)
        // What was marked as processed leaves the list of waiting events.
        .filter(({ processed }) => filter.view !== "waiting" || !processed),
    [query.data, filter.view],
  );

  /** Shows the new events: starts the list again at the newest. */
  const showNew = useCallback(async () => {
    setAdded(0);
    await queryClient.resetQueries({ queryKey: key });
  }, [key]);

  const isEmpty = query.isSuccess && events.length === 0;
  const refresh = useThrottled(async () => {
    const shown = queryClient.getQueryData<Data>(key);
    if (!shown || document.hidden) return;
    void queryClient.invalidateQueries({ queryKey: ["runs", "newest"] });
    void queryClient.invalidateQueries({ queryKey: ["stats"] });
    const newest = await fetchPage(filter);
    const { pages, added } = mergeNewest(shown, newest);
    if (pages !== shown) queryClient.setQueryData<Data>(key, pages as Data);
    // Nothing can move under the pointer in an empty list.
    if (added > 0 && isEmpty) await showNew();
    else setAdded(added);
  }, REFRESH_MS);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has other new events
  useEffect(() => setAdded(0), [key]);
  useLive("events", ({ kind, data }) => {
    const { topic } = data as { topic?: string };
    if (kind === "event" || (kind === "change" && topic !== "flows")) refresh();
  });
  useEffect(() => {
    const onVisible = () => !document.hidden && refresh();
    document.addEventListener("visibilitychange", onVisible);
    return () => document.removeEventListener("visibilitychange", onVisible);
  }, [refresh]);

  return { ...query, events, added, showNew, refresh };
}

/** Changes events in every list that shows them. */
export function patchEvents(ids: readonly string[], change: Partial<EventItem>): void {
  const wanted = new Set(ids);
  queryClient.setQueriesData<Data>(
    { queryKey: ["event-list"] },
    (data) =>
      data &&
      (patch(data, (item) => (wanted.has(item.id) ? { ...item, ...change } : item)) as Data),
  );
}

/** Calls `task` now, and again at most once in `ms` while it is asked for. */
function useThrottled(task: () => Promise<void>, ms: number): () => void {
  const latest = useRef(task);
  useEffect(() => {
    latest.current = task;
  });
  const state = useRef<{ timer?: ReturnType<typeof setTimeout>; isWanted: boolean }>({
    isWanted: false,
  });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  return useCallback(() => {
    const run = () => {
      state.current.isWanted = false;
      state.current.timer = setTimeout(() => {
        delete state.current.timer;
        if (state.current.isWanted) run();
      }, ms);
      // A failure shows in the live state of the hub; the next message tries again.
      latest.current().catch(() => {});
    };
    if (state.current.timer === undefined) run();
    else state.current.isWanted = true;
  }, [ms]);
}
