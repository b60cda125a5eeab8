/** The virtualised list of events, with a button that shows new events. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { Send } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { Link } from "wouter";
import { NextPage, useNextPage } from "../app/next-page.tsx";
import { useIsAdmin } from "../app/session.ts";
import { MAX_ROWS } from "../app/use-paged-list.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { NewPill } from "../ui/new-pill.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { type ListRow, toListRows } from "./event-list.ts";
import { EventRow } from "./event-row.tsx";
import { type Filter, isNarrowed, writeFilter } from "./filter.ts";
import { useSendTest } from "./send-test.tsx";
import { useEventRuns } from "./use-event-runs.ts";
import type { useEvents } from "./use-events.ts";

const HEIGHTS: Record<ListRow["kind"], number> = { day: 34, event: 56 };
/** The next page is loaded when at most this many rows follow the last rendered row. */
const PREFETCH_ROWS = 30;

export function EventList({
  list,
  filter,
  openId,
  selected,
  onOpen,
  onToggle,
}: {
  list: ReturnType<typeof useEvents>;
  filter: Filter;
  openId: string | undefined;
  selected: ReadonlySet<string>;
  onOpen: (id: string) => void;
  onToggle: (id: string) => void;
}) {
  const { items: events, added, showNew, error, isPending, refetch, hasNextPage } = list;
  const rows = useMemo(() => toListRows(events, new Date()), [events]);
  const runsOf = useEventRuns();
  const scroller = useRef<HTMLDivElement>(null);
  // Memoized: a new function identity would make the virtualizer measure all rows again.
  const getItemKey = useCallback(
    (index: number) => {
      const row = rows[index];
      return row?.kind === "event" ? row.event.id : (row?.key ?? index);
    },
    [rows],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => HEIGHTS[rows[index]?.kind ?? "event"],
    getItemKey,
    overscan: 10,
  });
  const virtualRows = virtual.getVirtualItems();
  const lastRendered = virtualRows.at(-1)?.index ?? 0;
  useNextPage(list, lastRendered >= rows.length - PREFETCH_ROWS);

  const openIndex = rows.findIndex((row) => row.kind === "event" && row.event.id === openId);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls only when another event is opened
  useEffect(() => {
    if (openIndex >= 0) virtual.scrollToIndex(openIndex);
  }, [openId]);

  if (error && events.length === 0)
    return <ErrorState error={error} onRetry={() => void refetch()} />;
  // A page of a search can be empty although older events match.
  if (isPending || (events.length === 0 && hasNextPage)) return <SkeletonRows rows={14} />;
  if (events.length === 0) return <Empty filter={filter} />;
  const search = writeFilter(filter);
  const oldest = events.at(-1);
  return (
    <>
      <NewPill
        added={added}
        noun="event"
        onClick={() => {
          scroller.current?.scrollTo({ top: 0 });
          void showNew();
        }}
      />
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto [overflow-anchor:none]">
        <ol className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtualRows.map(({ index, start, size, key }) => {
            const row = rows[index];
            if (!row) return null;
            const style = { transform: `translateY(${start}px)`, height: size };
            if (row.kind === "day")
              return (
                <li
                  key={key}
                  className="absolute top-0 flex w-full items-center border-line border-b px-5 type-label text-ink-3"
                  style={style}
                >
                  {row.name}
                </li>
              );
            return (
              <li
                key={key}
                className="absolute top-0 w-full"
                style={style}
                aria-setsize={hasNextPage ? -1 : rows.length}
                aria-posinset={index + 1}
              >
                <EventRow
                  event={row.event}
                  runs={runsOf(row.event.id)}
                  href={`/inbox/${row.event.id}${search}`}
                  isOpen={row.event.id === openId}
                  isSelected={selected.has(row.event.id)}
                  isSelecting={selected.size > 0}
                  onOpen={onOpen}
                  onToggle={onToggle}
                />
              </li>
            );
          })}
        </ol>
        <NextPage list={list} />
        {events.length >= MAX_ROWS && oldest && (
          <p className="px-5 py-6 text-ink-2">
            The list ends here.{" "}
            <Link
              className="text-blue underline"
              href={`/inbox${writeFilter({ ...filter, until: oldest.received_at })}`}
            >
              Continue with older events
            </Link>
          </p>
        )}
      </div>
    </>
  );
}

function Empty({ filter }: { filter: Filter }) {
  const sendTest = useSendTest();
  const isAdmin = useIsAdmin();
  const command = isAdmin ? "npx signalbox send github issues --action opened" : undefined;
  const send = isAdmin && (
    <Button look="primary" icon={Send} onClick={sendTest}>
      Send test event
    </Button>
  );
  if (isNarrowed(filter))
    return (
      <EmptyState
        title="No event matches these filters"
        actions={
          <Link href="/inbox?view=all" className="btn">
            Show all events
          </Link>
        }
      >
        Choose a longer time, or clear the search. The page “Settings” shows how long events are
        kept.
      </EmptyState>
    );
  if (filter.view === "waiting")
    return (
      <EmptyState
        title="No event is waiting"
        command={command}
        actions={
          <>
            {send}
            <Link href="/inbox?view=all" className="btn">
              Show all events
            </Link>
          </>
        }
      >
        New events appear here as they arrive.
        {isAdmin && " You can send a test event with this command, or with the button."}
      </EmptyState>
    );
  return (
    <EmptyState title="No event has arrived yet" command={command} actions={send}>
      {isAdmin
        ? "Configure a webhook with a URL from the page “Sources”, or send a signed test event."
        : "Events of the organization appear here as they arrive."}
    </EmptyState>
  );
}
