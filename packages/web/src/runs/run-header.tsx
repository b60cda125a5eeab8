/** The header of a run: its flow, its status, and its actions. */
import { Ban, PencilRuler, RotateCcw, RotateCw } from "lucide-react";
import { Link } from "wouter";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { clock, day, duration } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { isDraft } from "./replay.ts";
import { runDuration } from "./run-chip.tsx";
import { isEnded, type RunFields } from "./run-data.ts";
import { describeCause } from "./run-filter.ts";
import { signalOfRun } from "./signal-of-run.ts";
import { useNow } from "./use-now.ts";

export function RunHeader({
  run,
  flow,
  isFlowDeleted,
  isAdmin,
  busy,
  onCancel,
  onRetry,
  onReplay,
  onEdit,
}: {
  run: RunFields;
  /** The name of the flow. */
  flow: string;
  isFlowDeleted: boolean;
  /** Members, who are not admins, can neither change runs nor open flows. */
  isAdmin: boolean;
  busy: "cancel" | "retry" | "edit" | undefined;
  onCancel: () => void;
  onRetry: () => void;
  onReplay: () => void;
  /** Undefined until the flow of the run is loaded. */
  onEdit: (() => void) | undefined;
}) {
  const now = useNow(!isEnded(run));
  const { aspect, label } = signalOfRun(run.status);
  const took = runDuration(run, now);
  const version = isDraft(run) ? "draft" : `v${run.version}`;
  return (
    <header className="flex min-h-[60px] flex-none flex-wrap items-center gap-x-3 gap-y-2 border-line border-b bg-page py-2 pr-4 pl-5">
      <SignalHead aspect={aspect} label={label} />
      <h1 className="flex min-w-0 items-center gap-2 type-h2">
        <Link href="/runs" className="flex-none font-medium text-ink-3 hover:text-ink">
          Runs /
        </Link>
        {isFlowDeleted || !isAdmin ? (
          <span className="truncate">{flow}</span>
        ) : (
          <Link href={`/flows/${run.flow_id}`} className="truncate hover:underline">
            {flow}
          </Link>
        )}
      </h1>
      <span role="status" className="flex">
        <Chip tone={aspect} words>
          {took === undefined ? label : `${label} ${isEnded(run) ? "in " : ""}${duration(took)}`}
        </Chip>
      </span>
      <span className="min-w-0 truncate type-meta text-ink-3">
        {describeCause(run)} ·{" "}
        <time dateTime={run.created_at} title={day(run.created_at)}>
          {clock(run.created_at)}
        </time>{" "}
        · {version}
      </span>
      {isAdmin && (
        <div className="ml-auto flex flex-none items-center gap-2">
          {!isEnded(run) && (
            <Button icon={Ban} busy={busy === "cancel"} onClick={onCancel}>
              Cancel
            </Button>
          )}
          {(run.status === "failed" || run.status === "cancelled") && (
            <Button
              icon={RotateCw}
              busy={busy === "retry"}
              title="Continues this run at the steps that failed"
              onClick={onRetry}
            >
              Retry
            </Button>
          )}
          {!isFlowDeleted && (
            <Button icon={RotateCcw} title="Starts a new run with this input" onClick={onReplay}>
              Replay…
            </Button>
          )}
          {!isFlowDeleted && (
            <Button
              look="primary"
              icon={PencilRuler}
              busy={busy === "edit"}
              disabled={!onEdit}
              title="Pins the outputs of this run in the editor"
              onClick={onEdit}
            >
              Open in the editor
            </Button>
          )}
        </div>
      )}
    </header>
  );
}
