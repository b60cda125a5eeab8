/** The list of events. */
import type { InfiniteData } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import type { EventItem, EventView, Page } from "../api/types.ts";
import { type ItemOrder, patch } from "../app/paged-list.ts";
import { queryClient } from "../app/query-client.ts";
import { countLocalChange, PAGE_SIZE, usePagedList } from "../app/use-paged-list.ts";
import { type Filter, toListQuery, writeFilter } from "./filter.ts";

const EVENTS: ItemOrder<EventItem> = {
  orderOf: ({ seq }) => seq,
  isSame: (a, b) =>
    a.outcome === b.outcome && a.processed === b.processed && a.claimed_by === b.claimed_by,
};

type EventPages = InfiniteData<Page<EventItem>>;
const LISTS = { queryKey: ["event-list"] };

export const useEvents = (filter: Filter) =>
  usePagedList({
    ...EVENTS,
    queryKey: ["event-list", writeFilter(filter)],
    fetchPage: (cursor, signal) =>
      api.get<Page<EventItem>>(
        "/api/events",
        { ...toListQuery(filter, Date.now()), limit: PAGE_SIZE, cursor },
        signal,
      ),
    topic: "events",
    concerns: ({ kind, data }) =>
      kind === "event" || (kind === "change" && (data as { topic?: string }).topic !== "flows"),
    // What was marked as processed leaves the list of waiting events.
    isShown: ({ processed }) => filter.view !== "waiting" || !processed,
    onRefresh: () => {
      void queryClient.invalidateQueries({ queryKey: ["runs", "newest"] });
      void queryClient.invalidateQueries({ queryKey: ["stats"] });
    },
  });

/** Changes events wherever they are shown. */
export function patchEvents(ids: readonly string[], change: Partial<EventItem>): void {
  countLocalChange();
  const wanted = new Set<unknown>(ids);
  queryClient.setQueriesData<EventView>(
    {
      predicate: ({ queryKey: [topic, id, part] }) =>
        topic === "events" && wanted.has(id) && part === undefined,
    },
    (event) => event && { ...event, ...change },
  );
  queryClient.setQueriesData<EventPages>(
    LISTS,
    (data) =>
      data &&
      (patch(data, EVENTS.isSame, (item) =>
        wanted.has(item.id) ? { ...item, ...change } : item,
      ) as EventPages),
  );
}

/** The events among `ids` that a list shows as waiting, or as processed. */
export function shownAs(processed: boolean, ids: readonly string[]): string[] {
  const wanted = new Set(ids);
  const items = queryClient
    .getQueriesData<EventPages>(LISTS)
    .flatMap(([, data]) => data?.pages.flatMap(({ items }) => items) ?? []);
  return items
    .filter((item) => item.processed === processed && wanted.has(item.id))
    .map(({ id }) => id);
}
