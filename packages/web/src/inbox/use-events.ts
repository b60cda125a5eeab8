/** The list of events, and changes to the events in the query cache. */

import type { EventItem, EventView, Page } from "@signalbox/contract";
import type { InfiniteData } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { type ItemOrder, patch } from "../app/paged-list.ts";
import { queryClient } from "../app/query-client.ts";
import { countLocalChange, PAGE_SIZE, usePagedList } from "../app/use-paged-list.ts";
import { type Filter, toListQuery, writeFilter } from "./filter.ts";

const EVENT_ORDER: ItemOrder<EventItem> = {
  orderOf: ({ seq }) => seq,
  isSame: (a, b) =>
    a.outcome === b.outcome && a.processed === b.processed && a.claimed_by === b.claimed_by,
};

type EventPages = InfiniteData<Page<EventItem>>;
const LISTS = { queryKey: ["event-list"] };

export const useEvents = (filter: Filter) =>
  usePagedList({
    ...EVENT_ORDER,
    queryKey: ["event-list", writeFilter(filter)],
    fetchPage: (cursor, signal) =>
      api.get("/api/events", {
        query: { ...toListQuery(filter, Date.now()), limit: PAGE_SIZE, cursor },
        signal,
      }),
    topic: "events",
    concerns: ({ kind, data }) => kind === "event" || (kind === "change" && data.topic !== "flows"),
    // An event that is marked as processed leaves the list of waiting events.
    isShown: ({ processed }) => filter.view !== "waiting" || !processed,
    onRefresh: () => {
      void queryClient.invalidateQueries({ queryKey: ["runs", "newest"] });
      void queryClient.invalidateQueries({ queryKey: ["stats"] });
    },
  });

/** Changes events in all cached lists, and in the cached details. */
export function patchEvents(ids: readonly string[], change: Partial<EventItem>): void {
  countLocalChange();
  const changed = new Set<unknown>(ids);
  queryClient.setQueriesData<EventView>(
    {
      // Queries such as `["events", id, "headers"]` contain other data.
      predicate: ({ queryKey: [topic, id, subresource] }) =>
        topic === "events" && changed.has(id) && subresource === undefined,
    },
    (event) => event && { ...event, ...change },
  );
  queryClient.setQueriesData<EventPages>(
    LISTS,
    (data) =>
      data &&
      (patch(data, EVENT_ORDER.isSame, (item) =>
        changed.has(item.id) ? { ...item, ...change } : item,
      ) as EventPages),
  );
}

/** Returns those of `ids` that a cached list shows as processed, or as waiting if `processed` is false. */
export function findShownAs(processed: boolean, ids: readonly string[]): string[] {
  const wanted = new Set(ids);
  const items = queryClient
    .getQueriesData<EventPages>(LISTS)
    .flatMap(([, data]) => data?.pages.flatMap(({ items }) => items) ?? []);
  return items
    .filter((item) => item.processed === processed && wanted.has(item.id))
    .map(({ id }) => id);
}
