/** The fields of an event that people read first. */
import type { ReactNode } from "react";
import type { EventItem, EventView } from "../api/types.ts";
import { bytes, clock, count, day } from "../ui/format.ts";
import { lookOfOutcome, typeOf } from "./event-words.ts";

/** Only links that a browser opens as a page. */
const isLink = (url: string | null): url is string => url !== null && /^https?:\/\//.test(url);

export function EventSummaryTab({ event }: { event: EventItem | EventView }) {
  const view = "attempts" in event ? event : undefined;
  const rows: [string, ReactNode][] = [
    ["State", event.processed ? "processed" : "waiting"],
    ["Runs", lookOfOutcome(event.outcome).label],
    ["Type", <code key="type">{typeOf(event)}</code>],
    ["Source", event.source],
    ["Repository", event.repo],
    ["Sender", event.sender],
    [
      "Page",
      isLink(event.url) && (
        <a className="text-blue underline" href={event.url} target="_blank" rel="noreferrer">
          {event.url}
        </a>
      ),
    ],
    ["Received", `${day(event.received_at)}, ${clock(event.received_at)}`],
    ["Size", bytes(event.size)],
    ["Number in the log", count(event.seq)],
    ["Claimed by", event.claimed_by],
    ["Claimed until", event.claimed_until && clock(event.claimed_until)],
    ["Attempts", view && view.attempts > 0 && view.attempts],
    ["Processed", view?.processed_at && `${day(view.processed_at)}, ${clock(view.processed_at)}`],
    ["Note", view?.note],
    ["Delivery id", view?.external_id && <code key="delivery">{view.external_id}</code>],
    ["Event id", <code key="id">{event.id}</code>],
  ];
  return (
    <dl className="grid grid-cols-[130px_minmax(0,1fr)] gap-x-3 gap-y-2 pb-6">
      {rows
        .filter(([, value]) => Boolean(value))
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="type-meta leading-5 text-ink-3">{name}</dt>
            <dd className="wrap-anywhere" dir="auto">
              {value}
            </dd>
          </div>
        ))}
    </dl>
  );
}
