/** The inbox: figures, filters, the live list, and the open event. */

import type { EventView } from "@signalbox/contract";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useParams, useSearch } from "wouter";
import { queryClient } from "../app/query-client.ts";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { plural } from "../ui/format.ts";
import { Kbd } from "../ui/kbd.tsx";
import { markEvents, replayEvent, replayEvents } from "./actions.ts";
import { EventDetail } from "./event-detail.tsx";
import { EventList } from "./event-list-view.tsx";
import { readFilter, writeFilter } from "./filter.ts";
import { FirstSteps } from "./first-steps.tsx";
import { InboxHeader } from "./inbox-header.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { Toolbar } from "./toolbar.tsx";
import { useEvents } from "./use-events.ts";

export default function InboxPage() {
  usePageTitle("Inbox");
  const { event: openId } = useParams<{ event?: string }>();
  const [, navigate] = useLocation();
  const search = useSearch();
  const filter = useMemo(() => readFilter(search), [search]);
  const list = useEvents(filter);
  const { items: events, added, showNew } = list;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [tab, setTab] = useState("summary");
  const searchField = useRef<HTMLInputElement>(null);

  const filterQuery = writeFilter(filter);
  const open = (id: string | undefined, replace = true) =>
    navigate(`/inbox${id === undefined ? "" : `/${id}`}${filterQuery}`, { replace });
  const openIndex = events.findIndex(({ id }) => id === openId);
  const openItem = events[openIndex];
  const moveBy = (step: number) => {
    const index = openIndex < 0 ? 0 : openIndex + step;
    const next = events[Math.max(0, Math.min(events.length - 1, index))];
    if (next) open(next.id);
  };
  const toggle = (id: string) =>
    setSelected((ids) => {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const markOpenEvent = () => {
    // The list may not contain the open event.
    const event = openItem ?? queryClient.getQueryData<EventView>(["events", openId]);
    if (!event) return;
    void markEvents([event.id], !event.processed);
    // The event leaves the list of waiting events, so its neighbour is opened.
    const neighbour = events[openIndex + 1] ?? events[openIndex - 1];
    if (filter.view === "waiting" && openItem) open(neighbour?.id);
  };
  const selectedIds = [...selected];
  const clearSelection = () => setSelected(new Set());
  const clearIfComplete = (isComplete: boolean) => isComplete && clearSelection();
  const markSelected = (processed: boolean) =>
    void markEvents(selectedIds, processed).then(clearIfComplete);
  const replaySelected = () => void replayEvents(selectedIds).then(clearIfComplete);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter shows other events, so the selection is cleared
  useEffect(clearSelection, [filterQuery]);
  useKeys({
    j: () => moveBy(1),
    k: () => moveBy(-1),
    e: () => (selectedIds.length > 0 ? markSelected(true) : markOpenEvent()),
    r: () => {
      if (selectedIds.length > 0) replaySelected();
      else if (openId) void replayEvent(openId);
    },
    w: () => setTab("why"),
    x: () => openItem && toggle(openItem.id),
    n: () => void showNew(),
    "/": () => searchField.current?.focus(),
    escape: () => (selected.size > 0 ? clearSelection() : open(undefined)),
  });

  return (
    <div className="flex h-full min-h-0 flex-col">
      <InboxHeader />
      <FirstSteps />
      <Toolbar filter={filter} searchField={searchField} />
      <div
        className={
          openId
            ? "grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)_clamp(490px,36%,620px)] max-[1100px]:grid-cols-1"
            : "grid min-h-0 flex-1"
        }
      >
        <section
          aria-label="Events"
          className={`relative flex min-h-0 min-w-0 flex-col ${openId ? "max-[1100px]:hidden" : ""}`}
        >
          <div className="relative flex min-h-0 flex-1 flex-col overflow-y-auto">
            <EventList
              list={list}
              filter={filter}
              openId={openId}
              selected={selected}
              onOpen={(id) => open(id, openId !== undefined)}
              onToggle={toggle}
            />
          </div>
          {selected.size > 0 ? (
            <SelectionBar
              count={selected.size}
              total={events.length}
              onSelectAll={() => setSelected(new Set(events.map(({ id }) => id)))}
              onMark={markSelected}
              onReplay={replaySelected}
              onClear={clearSelection}
            />
          ) : (
            <ShortcutHints />
          )}
          <p className="sr-only" role="status">
            {added > 0 ? `${plural(added, "new event")}. Press N to show them.` : ""}
          </p>
        </section>
        {openId && (
          <EventDetail
            key={openId}
            id={openId}
            item={openItem}
            tab={tab}
            onTab={setTab}
            onClose={() => open(undefined)}
          />
        )}
      </div>
    </div>
  );
}

const SHORTCUTS: readonly { keys: readonly string[]; action: string }[] = [
  { keys: ["J", "K"], action: "next, previous" },
  { keys: ["E"], action: "mark processed" },
  { keys: ["R"], action: "replay" },
  { keys: ["W"], action: "show why" },
  { keys: ["X"], action: "select" },
  { keys: ["?"], action: "all keys" },
];

const ShortcutHints = () => (
  <div className="flex h-[34px] flex-none items-center gap-[18px] overflow-hidden whitespace-nowrap border-line border-t px-5 type-meta text-ink-2">
    {SHORTCUTS.map(({ keys, action }) => (
      <span key={action} className="inline-flex items-center gap-[6px]">
        {keys.map((key) => (
          <Kbd key={key}>{key}</Kbd>
        ))}
        {action}
      </span>
    ))}
  </div>
);
