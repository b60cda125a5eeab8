/** The result of a test event: the verdicts of the published trigger, with its run, and of the draft. */

import type { ExplainedTrigger, Page } from "@signalbox/contract";
import { useIsFetching, useQuery } from "@tanstack/react-query";
import { Inbox, RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { api } from "../api/client.ts";
import { Reasons } from "../inbox/reasons.tsx";
import { linesOf, stateOf } from "../inbox/verdict.ts";
import { Button, ButtonLink } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import type { PreviewedEvent } from "./preview-list.ts";
import { PREVIEW_KEY } from "./use-preview.ts";

const POLL_MS = 1_000;
const ACTIVE_STATUSES = new Set(["queued", "running", "held", "waiting"]);

export function TestResult({
  event,
  target: { flow, node },
  draft,
  onAgain,
  onClose,
}: {
  event: string;
  target: { flow: string; node: string };
  draft: PreviewedEvent | undefined;
  onAgain: () => void;
  onClose: () => void;
}) {
  const verdictIn = (page: Page<ExplainedTrigger> | undefined) =>
    page?.items.find(({ flow_id, node_id }) => flow_id === flow && node_id === node);
  const { data, error } = useQuery({
    queryKey: ["events", event, "explain", flow],
    queryFn: () => api.get("/api/events/:event/explain", { params: { event }, query: { flow } }),
    refetchInterval: ({ state }) =>
      ACTIVE_STATUSES.has(verdictIn(state.data)?.run_status ?? "") ? POLL_MS : false,
  });
  const isComparing = useIsFetching({ queryKey: PREVIEW_KEY }) > 0;
  const published = verdictIn(data);
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col gap-3" role="status">
        <p>The event is in the inbox.</p>
        {error ? (
          <ErrorState error={error} compact />
        ) : !data ? (
          <p className="text-ink-2">Loading the verdicts…</p>
        ) : published ? (
          <Verdict subject="The published trigger" {...published}>
            <RunState verdict={published} />
          </Verdict>
        ) : (
          <p className="text-ink-2">
            The published flow has no such trigger, so the event started no run of this flow.
          </p>
        )}
        {draft ? (
          <Verdict subject="The draft" {...draft} />
        ) : (
          <p className="text-ink-2">
            {isComparing
              ? "Comparing the event with the draft…"
              : "The draft listens to other events."}
          </p>
        )}
      </div>
      <div className="flex justify-end gap-2">
        <ButtonLink icon={Inbox} to={`/inbox/${event}?view=all`}>
          Open in the inbox
        </ButtonLink>
        <Button icon={RotateCcw} onClick={onAgain}>
          Send another
        </Button>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}

function Verdict({
  subject,
  matched,
  reasons,
  children,
}: {
  subject: string;
  matched: boolean;
  reasons: ExplainedTrigger["reasons"];
  children?: ReactNode;
}) {
  const isPaused = reasons.some(({ on, holds }) => on === "active" && !holds);
  const text = matched ? "matched" : isPaused ? "is paused" : "did not match";
  return (
    <div className="flex flex-col gap-1">
      <p className="flex items-center gap-2 type-strong">
        <SignalHead aspect={matched ? "green" : "none"} label={text} />
        <span>
          {subject} {text}
        </span>
        {children}
      </p>
      {!matched && <Reasons lines={linesOf({ reasons }).filter(({ holds }) => !holds)} />}
    </div>
  );
}

function RunState({ verdict }: { verdict: ExplainedTrigger }) {
  if (verdict.run_id === null) return null;
  const { text, tone } = stateOf(verdict);
  return (
    <Link href={`/runs/${verdict.run_id}`}>
      <Chip words tone={tone}>
        {text}
      </Chip>
    </Link>
  );
}
