/** The preview of a trigger: which of the newest events would have matched, and which nearly did. */
import { Send } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { titleOf, typeOf } from "../inbox/event-words.ts";
import { Reasons } from "../inbox/reasons.tsx";
import { linesOf } from "../inbox/verdict.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { ago, plural } from "../ui/format.ts";
import {
  describeBasis,
  type PreviewedEvent,
  previewSentence,
  sortPreview,
} from "./preview-list.ts";
import type { usePreview } from "./use-preview.ts";

/** Longer groups are collapsed. */
const MAX_COLLAPSED = 3;

/** The summary sticks to the bottom of the panel, so that users see the effect of an edit. */
export function Preview({
  preview: { data, error, hasSource, isPlaceholderData },
  source,
  name,
  onSend,
}: {
  preview: ReturnType<typeof usePreview>;
  source: string;
  /** The name of the source, which is shown instead of its id. */
  name: string;
  /** Undefined if no test event can be sent. */
  onSend: (() => void) | undefined;
}) {
  const { matches, nearMisses } = sortPreview(hasSource && !error ? (data?.events ?? []) : []);
  const sentence = !hasSource
    ? "Choose a source to compare the trigger with your last 100 events."
    : error
      ? "Your last events could not be compared"
      : data
        ? previewSentence(data)
        : "Comparing with your last events…";
  const faded = isPlaceholderData && "opacity-60";
  return (
    <section aria-label="Preview" className="contents">
      <div className="sticky bottom-0 z-10 flex flex-col gap-2 rounded-tile border border-line bg-sunk px-3 py-2 shadow-tile">
        <div className="flex items-center gap-2">
          <p className={cx("min-w-0 flex-1 type-strong", faded)} role="status">
            {sentence}
          </p>
          <Button
            size="small"
            icon={Send}
            disabled={!onSend}
            title={
              onSend || source === ""
                ? undefined
                : "Only flows emit these events. Run a flow that emits one instead."
            }
            onClick={onSend}
          >
            Send test event
          </Button>
        </div>
        {error ? (
          <ErrorState error={error} compact />
        ) : (
          <Lamps events={data?.events ?? []} nearMisses={nearMisses} />
        )}
      </div>
      {hasSource && !error && data && (
        <div className={cx("flex flex-col gap-3 px-3", faded)}>
          <p className="wrap-anywhere type-meta text-ink-3">
            {describeBasis(data.basis, data.basis.source === source ? name : data.basis.source)}.
          </p>
          <EventGroup title="Would have matched" events={matches} />
          <EventGroup
            title={plural(nearMisses.length, "near miss", "near misses")}
            events={nearMisses}
            isNearMiss
          />
        </div>
      )}
    </section>
  );
}

/** One lamp for each event, the newest at the left: green if the event matches, amber for a near miss. */
function Lamps({
  events,
  nearMisses,
}: {
  events: readonly PreviewedEvent[];
  nearMisses: readonly PreviewedEvent[];
}) {
  const nearMissSet = new Set(nearMisses);
  return (
    <div className="flex h-[6px] w-full gap-[1px] rounded-[1px] bg-track p-[2px]" aria-hidden>
      {events.map((each) => (
        <i
          key={each.event.id}
          className={cx(
            "min-w-0 flex-1",
            each.matched
              ? "bg-[var(--lamp-green)]"
              : nearMissSet.has(each)
                ? "bg-[var(--lamp-amber)]"
                : "bg-slot",
          )}
        />
      ))}
    </div>
  );
}

function EventGroup({
  title,
  events,
  isNearMiss = false,
}: {
  title: string;
  events: readonly PreviewedEvent[];
  isNearMiss?: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  if (events.length === 0) return null;
  const shown = isOpen ? events : events.slice(0, MAX_COLLAPSED);
  return (
    <div className="flex flex-col gap-1">
      <h4 className={cx("type-label", isNearMiss ? "text-amber" : "text-ink-2")}>{title}</h4>
      <ul aria-label={title} className="flex flex-col gap-2">
        {shown.map((each) => (
          <li key={each.event.id} className="flex min-w-0 flex-col gap-[3px]">
            <Link
              href={`/inbox/${each.event.id}?view=all`}
              className="flex min-w-0 items-baseline gap-2 hover:underline"
            >
              <bdi className={cx("min-w-0 truncate", isNearMiss && "text-amber")}>
                {titleOf(each.event)}
              </bdi>
              <code className="type-code-s flex-none text-ink-3">{typeOf(each.event)}</code>
              <span className="ml-auto flex-none type-meta text-ink-3">
                {ago(each.event.received_at)}
              </span>
            </Link>
            {isNearMiss && <Reasons lines={linesOf(each).filter(({ holds }) => !holds)} />}
          </li>
        ))}
      </ul>
      {events.length > MAX_COLLAPSED && (
        <div>
          <Button size="small" look="ghost" onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Show fewer" : `Show all ${events.length}`}
          </Button>
        </div>
      )}
    </div>
  );
}
