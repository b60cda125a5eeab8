/** The open event: its actions, the progress of its newest run, and tabs with its details. */

import type { EventItem } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { Check, Link2, RotateCcw, Undo2, Workflow, X } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "../api/client.ts";
import { setFlag } from "../app/flags.ts";
import { useIsAdmin } from "../app/session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { bytes, clockMs, count } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { SourceMark } from "../ui/source-mark.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { markEvents, replayEvent } from "./actions.ts";
import { EventHeaders } from "./event-headers.tsx";
import { EventPayload } from "./event-payload.tsx";
import { EventRuns } from "./event-runs.tsx";
import { EventSummaryTab } from "./event-summary.tsx";
import { titleOf, typeOf } from "./event-words.ts";
import { MakeFlowDialog } from "./make-flow.tsx";
import { RunLine } from "./run-line.tsx";
import { useEvent } from "./use-event.ts";
import { useExplanation } from "./use-explanation.ts";
import { countOf } from "./verdict.ts";
import { Why } from "./why.tsx";

export function EventDetail({
  id,
  item,
  tab,
  onTab,
  onClose,
}: {
  id: string;
  /** The event as in the list, to show until the whole event has loaded; undefined if it is not in the list. */
  item: EventItem | undefined;
  tab: string;
  onTab: (tab: string) => void;
  onClose: () => void;
}) {
  const [isFlowDialogOpen, setFlowDialogOpen] = useState(false);
  const isAdmin = useIsAdmin();
  useEffect(() => setFlag("event-seen"), []);
  const eventQuery = useEvent(id);
  const verdicts = useExplanation(id);
  const runs = useQuery({
    queryKey: ["runs", { event: id }],
    queryFn: () => api.get("/api/runs", { query: { event: id, limit: 50 } }),
  });
  const event = eventQuery.data ?? item;
  const newestRun = runs.data?.items[0];
  return (
    <aside
      aria-label="Event"
      className="flex min-h-0 min-w-0 flex-col border-line border-l bg-plate px-5 pt-4"
    >
      {!event ? (
        eventQuery.error ? (
          <>
            <div className="flex justify-end">
              <IconButton size="small" icon={X} label="Close" onClick={onClose} />
            </div>
            <ErrorState error={eventQuery.error} onRetry={() => void eventQuery.refetch()} />
          </>
        ) : (
          <SkeletonRows rows={6} />
        )
      ) : (
        <>
          <div className="flex flex-none items-center gap-[9px]">
            <SourceMark source={event.source} />
            <code className="truncate text-ink-2">{typeOf(event)}</code>
            <span className="min-w-0 truncate type-meta text-ink-3">
              {clockMs(event.received_at)}
              {` · ${bytes(event.size)}`} · seq {count(event.seq)}
            </span>
            <span className="flex-1" />
            <CopyButton
              icon={Link2}
              label="Copy a link to the event"
              text={`${location.origin}/inbox/${id}?view=all`}
            />
            <IconButton size="small" icon={X} label="Close" onClick={onClose} />
          </div>
          <h2 className="wrap-anywhere mt-2 mb-[2px] line-clamp-3 flex-none type-h2" dir="auto">
            {titleOf(event)}{" "}
            {event.number !== null && (
              <span className="font-[450] text-ink-3">#{event.number}</span>
            )}
          </h2>
          <p className="wrap-anywhere line-clamp-2 flex-none type-meta text-ink-2">
            <bdi>{event.repo}</bdi>
            {event.repo && event.sender && ", "}
            {event.sender && (
              <>
                by <bdi>{event.sender}</bdi>
              </>
            )}
          </p>
          <div className="my-3 flex flex-none flex-wrap gap-[6px]">
            <Button icon={RotateCcw} onClick={() => void replayEvent(id)}>
              Replay
            </Button>
            <Button
              icon={event.processed ? Undo2 : Check}
              onClick={() => void markEvents([id], !event.processed)}
            >
              {event.processed ? "Mark waiting" : "Mark processed"}
            </Button>
            {isAdmin && (
              <Button icon={Workflow} onClick={() => setFlowDialogOpen(true)}>
                Make a flow from this event
              </Button>
            )}
          </div>
          {newestRun && <RunLine run={newestRun} />}
          <Tabs
            label="About the event"
            className="-mx-5 mb-[14px] px-5"
            value={tab}
            onChange={onTab}
            tabs={[
              {
                value: "summary",
                label: "Summary",
                content: <EventSummaryTab event={event} />,
              },
              {
                value: "payload",
                label: "Payload",
                content: <EventPayload query={eventQuery} />,
              },
              { value: "headers", label: "Headers", content: <EventHeaders id={id} /> },
              {
                value: "why",
                label: "Why",
                count: verdicts.data && countOf(verdicts.data.total),
                content: <Why verdicts={verdicts} event={eventQuery.data} />,
              },
              {
                value: "runs",
                label: "Runs",
                count: runs.data?.items.length,
                content: <EventRuns runs={runs} />,
              },
            ]}
          />
          {isFlowDialogOpen && (
            <MakeFlowDialog event={event} onClose={() => setFlowDialogOpen(false)} />
          )}
        </>
      )}
    </aside>
  );
}
