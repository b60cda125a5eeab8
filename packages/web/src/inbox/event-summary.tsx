/** The tab with the properties of an event. */

import type { EventItem, EventView } from "@signalbox/contract";
import type { ReactNode } from "react";
import { bytes, clock, count, day } from "../ui/format.ts";
import { signalOfOutcome, typeOf } from "./event-words.ts";

/** Other schemes, such as `javascript:`, must not become links. */
const isWebUrl = (url: string | null): url is string => url !== null && /^https?:\/\//.test(url);

export function EventSummaryTab({ event }: { event: EventItem | EventView }) {
  // An item of the list lacks the fields that only the whole event has.
  const whole = "attempts" in event ? event : undefined;
  const rows: [string, ReactNode][] = [
    ["State", event.processed ? "processed" : "waiting"],
    ["Runs", signalOfOutcome(event.outcome).label],
    ["Type", <code key="type">{typeOf(event)}</code>],
    ["Source", event.source],
    ["Repository", event.repo],
    ["Sender", event.sender],
    [
      "Link",
      isWebUrl(event.url) && (
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
    ["Attempts", whole && whole.attempts > 0 && whole.attempts],
    [
      "Processed",
      whole?.processed_at && `${day(whole.processed_at)}, ${clock(whole.processed_at)}`,
    ],
    ["Note", whole?.note],
    ["Delivery id", whole?.external_id && <code key="delivery">{whole.external_id}</code>],
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
