/** One event in the list. */

import type { EventItem, RunItem } from "@signalbox/contract";
import { memo } from "react";
import { Link } from "wouter";
import { RunChip } from "../runs/run-chip.tsx";
import { Checkbox } from "../ui/checkbox.tsx";
import { cx } from "../ui/cx.ts";
import { clock } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { SourceMark } from "../ui/source-mark.tsx";
import { originOf, signalOfOutcome, titleOf, typeOf } from "./event-words.ts";

/** The number of runs that a row shows as chips. Further runs are only counted. */
const MAX_CHIPS = 2;

interface EventRowProps {
  event: EventItem;
  runs: readonly RunItem[];
  href: string;
  isOpen: boolean;
  isSelected: boolean;
  /** Whether any event is selected. Then all rows show their checkboxes. */
  isSelecting: boolean;
  onOpen: (id: string) => void;
  onToggle: (id: string) => void;
}

export const EventRow = memo(function EventRow({
  event,
  runs,
  href,
  isOpen,
  isSelected,
  isSelecting,
  onOpen,
  onToggle,
}: EventRowProps) {
  const { aspect, label } = signalOfOutcome(event.outcome);
  const isMuted = event.outcome === "unmatched" || event.processed;
  return (
    <div
      className={cx(
        "group relative h-full border-line border-b",
        isOpen ? "bg-plate shadow-[inset_3px_0_0_var(--blue)]" : "hover:bg-hover",
      )}
    >
      <Link
        href={href}
        aria-current={isOpen || undefined}
        onClick={(click) => {
          // With a modifier key, the browser opens the link in a new tab or window.
          if (click.metaKey || click.ctrlKey || click.shiftKey) return;
          click.preventDefault();
          onOpen(event.id);
        }}
        className="grid h-full grid-cols-[11px_66px_30px_minmax(0,1fr)_auto] items-center gap-x-[14px] px-5 focus-visible:outline-offset-[-2px]"
      >
        <span className={cx("flex", isSelecting ? "invisible" : "group-hover:invisible")}>
          <SignalHead aspect={aspect} label={label} />
        </span>
        <time dateTime={event.received_at} className="type-code text-ink-2">
          {clock(event.received_at)}
        </time>
        <SourceMark source={event.source} />
        <span className="min-w-0">
          <span className="flex gap-[7px] text-[13.5px]/[19px]">
            <bdi className={cx("truncate", isMuted ? "font-[450]" : "font-semibold")}>
              {titleOf(event)}
            </bdi>
            {event.number !== null && <span className="text-ink-3">#{event.number}</span>}
          </span>
          <span className="flex min-w-0 items-center gap-[7px] type-meta text-ink-3">
            <code className="type-code-s max-w-[60%] flex-none truncate text-ink-2">
              {typeOf(event)}
            </code>
            {originOf(event) && <span>·</span>}
            <bdi className="truncate">{originOf(event)}</bdi>
          </span>
        </span>
        <span className="flex min-w-0 max-w-[340px] items-center justify-end gap-[6px]">
          {event.claimed_by && !event.processed && (
            <span
              className="truncate type-meta text-ink-3"
              title={`claimed by ${event.claimed_by}`}
            >
              claimed
            </span>
          )}
          {event.processed && <span className="type-meta text-ink-3">processed</span>}
          {runs.slice(0, MAX_CHIPS).map((run) => (
            <RunChip key={run.id} run={run} />
          ))}
          {runs.length > MAX_CHIPS && (
            <span className="type-meta text-ink-3">+{runs.length - MAX_CHIPS}</span>
          )}
          {runs.length === 0 && !event.processed && (
            <span className="type-meta text-ink-3">{label}</span>
          )}
        </span>
      </Link>
      <span
        className={cx(
          "-translate-y-1/2 absolute top-1/2 left-[17px]",
          isSelecting ? "" : "opacity-0 focus-within:opacity-100 group-hover:opacity-100",
        )}
      >
        <Checkbox
          checked={isSelected}
          onChange={() => onToggle(event.id)}
          label={`Select ${titleOf(event)}`}
          tabIndex={isSelecting ? 0 : -1}
        />
      </span>
    </div>
  );
});
