/** Which of the newest events would have started the trigger, and which nearly did. */

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
import { type Previewed, previewSentence, sortPreview } from "./preview-list.ts";
import type { usePreview } from "./use-preview.ts";

const SHOWN = 3;

/** The head stays visible below the fields, so that it can be seen what an edit does. */
export function Preview({
  preview: { data, error, isChosen, isPlaceholderData },
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
  const { matches, near } = sortPreview(isChosen && !error ? (data?.events ?? []) : []);
  const sentence = !isChosen
    ? "Choose a source, and your last 100 events are compared."
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
              onSend || source === "" ? undefined : "Run a flow that emits such an event instead"
            }
            onClick={onSend}
          >
            Send test event
          </Button>
        </div>
        {error ? (
          <ErrorState error={error} compact />
        ) : (
          <Lamps events={data?.events ?? []} near={near} />
        )}
      </div>
      {isChosen && !error && data && (
        <div className={cx("flex flex-col gap-3 px-3", faded)}>
          <p className="wrap-anywhere type-meta text-ink-3">
            {data.compared.replace(source, () => name)}.
          </p>
          <EventGroup title="Would have matched" events={matches} />
          <EventGroup
            title={plural(near.length, "near miss", "near misses")}
            events={near}
            isNear
          />
        </div>
      )}
    </section>
  );
}

/** One lamp for each event, the newest at the left: lit green if it matches, amber if it nearly does. */
function Lamps({ events, near }: { events: readonly Previewed[]; near: readonly Previewed[] }) {
  const isNear = new Set(near);
  return (
    <div className="flex h-[6px] w-full gap-[1px] rounded-[1px] bg-track p-[2px]" aria-hidden>
      {events.map((one) => (
        <i
          key={one.event.id}
          className={cx(
            "min-w-0 flex-1",
            one.matched
              ? "bg-[var(--lamp-green)]"
              : isNear.has(one)
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
  isNear = false,
}: {
  title: string;
  events: readonly Previewed[];
  isNear?: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  if (events.length === 0) return null;
  const shown = isOpen ? events : events.slice(0, SHOWN);
  return (
    <div className="flex flex-col gap-1">
      <h4 className={cx("type-label", isNear ? "text-amber" : "text-ink-2")}>{title}</h4>
      <ul aria-label={title} className="flex flex-col gap-2">
        {shown.map((one) => (
          <li key={one.event.id} className="flex min-w-0 flex-col gap-[3px]">
            <Link
              href={`/inbox/${one.event.id}?view=all`}
              className="flex min-w-0 items-baseline gap-2 hover:underline"
            >
              <bdi className={cx("min-w-0 truncate", isNear && "text-amber")}>
                {titleOf(one.event)}
              </bdi>
              <code className="type-code-s flex-none text-ink-3">{typeOf(one.event)}</code>
              <span className="ml-auto flex-none type-meta text-ink-3">
                {ago(one.event.received_at)}
              </span>
            </Link>
            {isNear && <Reasons lines={linesOf(one).filter(({ holds }) => !holds)} />}
          </li>
        ))}
      </ul>
      {events.length > SHOWN && (
        <div>
          <Button size="small" look="ghost" onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Show fewer" : `Show all ${events.length}`}
          </Button>
        </div>
      )}
    </div>
  );
}
