/** The inbox: figures, filters, the live list, and the event that is open. */
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useParams, useSearch } from "wouter";
import type { EventView } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { plural } from "../ui/format.ts";
import { Kbd } from "../ui/kbd.tsx";
import { mark, replayAll, replayEvent } from "./actions.ts";
import { EventDetail } from "./event-detail.tsx";
import { EventList } from "./event-list-view.tsx";
import { readFilter, writeFilter } from "./filter.ts";
import { FirstSteps } from "./first-steps.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { Strip } from "./strip.tsx";
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

  const here = writeFilter(filter);
  const open = (id: string | undefined, replace = true) =>
    navigate(`/inbox${id === undefined ? "" : `/${id}`}${here}`, { replace });
  const at = events.findIndex(({ id }) => id === openId);
  const current = events[at];
  const move = (step: number) => {
    const next = events[at < 0 ? 0 : Math.max(0, Math.min(events.length - 1, at + step))];
    if (next) open(next.id);
  };
  const toggle = (id: string) =>
    setSelected((ids) => {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const markOne = () => {
    // The open event may have left the list.
    const event = current ?? queryClient.getQueryData<EventView>(["events", openId]);
    if (!event) return;
    void mark([event.id], !event.processed);
    // The event leaves the list: the next one takes its place.
    const next = events[at + 1] ?? events[at - 1];
    if (filter.view === "waiting" && current) open(next?.id);
  };
  const chosen = [...selected];
  const clear = () => setSelected(new Set());
  const clearIf = (isDone: boolean) => isDone && clear();
  const markChosen = (processed: boolean) => void mark(chosen, processed).then(clearIf);
  const replayChosen = () => void replayAll(chosen).then(clearIf);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has another selection
  useEffect(clear, [here]);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    e: () => (chosen.length > 0 ? markChosen(true) : markOne()),
    r: () => {
      if (chosen.length > 0) replayChosen();
      else if (openId) void replayEvent(openId);
    },
    w: () => setTab("why"),
    x: () => current && toggle(current.id),
    n: () => void showNew(),
    "/": () => searchField.current?.focus(),
    escape: () => (selected.size > 0 ? clear() : open(undefined)),
  });

  return (
    <div className="flex h-full min-h-0 flex-col">
      <Strip />
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
              all={events.length}
              onAll={() => setSelected(new Set(events.map(({ id }) => id)))}
              onMark={markChosen}
              onReplay={replayChosen}
              onClear={clear}
            />
          ) : (
            <Keys />
          )}
          <p className="sr-only" role="status">
            {added > 0 ? `${plural(added, "new event")}. Press N to show them.` : ""}
          </p>
        </section>
        {openId && (
          <EventDetail
            key={openId}
            id={openId}
            item={current}
            tab={tab}
            onTab={setTab}
            onClose={() => open(undefined)}
          />
        )}
      </div>
    </div>
  );
}

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [["J", "K"], "move"],
  [["E"], "mark processed"],
  [["R"], "replay"],
  [["W"], "why"],
  [["X"], "select"],
  [["?"], "all keys"],
];

const Keys = () => (
  <div className="flex h-[34px] flex-none items-center gap-[18px] overflow-hidden whitespace-nowrap border-line border-t px-5 type-meta text-ink-2">
    {KEYS.map(([keys, does]) => (
      <span key={does} className="inline-flex items-center gap-[6px]">
        {keys.map((key) => (
          <Kbd key={key}>{key}</Kbd>
        ))}
        {does}
      </span>
    ))}
  </div>
);
