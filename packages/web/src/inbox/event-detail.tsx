/** The event that is open: actions, its newest run as a line of stations, and everything known about it. */
import { useQuery } from "@tanstack/react-query";
import { Check, Link2, RotateCcw, Undo2, Workflow, X } from "lucide-react";
import { useEffect, useState } from "react";
import { api, path } from "../api/client.ts";
import type { EventItem, ExplainedTrigger, Page, RunItem } from "../api/types.ts";
import { setFlag } from "../app/flags.ts";
import { useIsAdmin } from "../app/session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { bytes, clockMs, count } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { SourceMark } from "../ui/source-mark.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { mark, replayEvent } from "./actions.ts";
import { EventHeaders } from "./event-headers.tsx";
import { EventPayload } from "./event-payload.tsx";
import { EventRuns } from "./event-runs.tsx";
import { EventSummaryTab } from "./event-summary.tsx";
import { titleOf, typeOf } from "./event-words.ts";
import { MakeFlowDialog } from "./make-flow.tsx";
import { RunLine } from "./run-line.tsx";
import { useEvent } from "./use-event.ts";
import { Why } from "./why.tsx";

export function EventDetail({
  id,
  item,
  tab,
  onTab,
  onClose,
}: {
  id: string;
  /** The event as the list has it, which is there before the rest has loaded. */
  item: EventItem | undefined;
  tab: string;
  onTab: (tab: string) => void;
  onClose: () => void;
}) {
  const [isMaking, setMaking] = useState(false);
  const isAdmin = useIsAdmin();
  useEffect(() => setFlag("event-seen"), []);
  const event = useEvent(id);
  const why = useQuery({
    queryKey: ["events", id, "explain"],
    queryFn: () => api.get<Page<ExplainedTrigger>>(path`/api/events/${id}/explain`),
  });
  const runs = useQuery({
    queryKey: ["runs", { event: id }],
    queryFn: () => api.get<Page<RunItem>>("/api/runs", { event: id, limit: 50 }),
  });
  const shown = event.data ?? item;
  const newestRun = runs.data?.items[0];
  return (
    <aside
      aria-label="Event"
      className="flex min-h-0 min-w-0 flex-col border-line border-l bg-plate px-5 pt-4"
    >
      {!shown ? (
        event.error ? (
          <>
            <div className="flex justify-end">
              <IconButton size="small" icon={X} label="Close" onClick={onClose} />
            </div>
            <ErrorState error={event.error} onRetry={() => void event.refetch()} />
          </>
        ) : (
          <SkeletonRows rows={6} />
        )
      ) : (
        <>
          <div className="flex flex-none items-center gap-[9px]">
            <SourceMark source={shown.source} />
            <code className="truncate text-ink-2">{typeOf(shown)}</code>
            <span className="min-w-0 truncate type-meta text-ink-3">
              {clockMs(shown.received_at)}
              {` · ${bytes(shown.size)}`} · seq {count(shown.seq)}
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
            {titleOf(shown)}{" "}
            {shown.number !== null && (
              <span className="font-[450] text-ink-3">#{shown.number}</span>
            )}
          </h2>
          <p className="wrap-anywhere line-clamp-2 flex-none type-meta text-ink-2">
            <bdi>{shown.repo}</bdi>
            {shown.repo && shown.sender && ", "}
            {shown.sender && (
              <>
                by <bdi>{shown.sender}</bdi>
              </>
            )}
          </p>
          <div className="my-3 flex flex-none flex-wrap gap-[6px]">
            <Button icon={RotateCcw} onClick={() => void replayEvent(id)}>
              Replay
            </Button>
            <Button
              icon={shown.processed ? Undo2 : Check}
              onClick={() => void mark([id], !shown.processed)}
            >
              {shown.processed ? "Mark waiting" : "Mark processed"}
            </Button>
            {isAdmin && (
              <Button icon={Workflow} onClick={() => setMaking(true)}>
                Make a flow from this
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
                content: <EventSummaryTab event={shown} />,
              },
              {
                value: "payload",
                label: "Payload",
                content: <EventPayload event={event} />,
              },
              { value: "headers", label: "Headers", content: <EventHeaders id={id} /> },
              {
                value: "why",
                label: "Why",
                count: why.data?.items.length,
                content: <Why why={why} event={event.data} />,
              },
              {
                value: "runs",
                label: "Runs",
                count: runs.data?.items.length,
                content: <EventRuns runs={runs} />,
              },
            ]}
          />
          {isMaking && <MakeFlowDialog event={shown} onClose={() => setMaking(false)} />}
        </>
      )}
    </aside>
  );
}
