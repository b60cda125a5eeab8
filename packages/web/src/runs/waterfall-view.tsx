/** The steps of a run over time. Only visible rows are rendered, because a run can have thousands of steps. */
import "./waterfall.css";
import { useVirtualizer } from "@tanstack/react-virtual";
import { TrainTrack } from "lucide-react";
import { memo, type ReactNode, useCallback, useEffect, useMemo, useRef } from "react";
import type { FlowNode } from "../canvas/graph.ts";
import { iconOf } from "../canvas/node-icon.tsx";
import { type Step, signalOfStep } from "../canvas/run-states.ts";
import { cx } from "../ui/cx.ts";
import { duration } from "../ui/format.ts";
import { isEnded, type RunFields } from "./run-data.ts";
import { signalOfRun } from "./signal-of-run.ts";
import { iterationText, ordinal, partText } from "./step-names.ts";
import { useNow } from "./use-now.ts";
import {
  barOf,
  rowsOf,
  type Span,
  spanOf,
  type TimedRun,
  ticksOf,
  type WaterfallRow,
} from "./waterfall.ts";

export type Nodes = ReadonlyMap<string, FlowNode>;

const ROW_PX = 26;
/** These rows belong to the step or run of another row, which is highlighted instead. */
const NEVER_HIGHLIGHTED: ReadonlySet<WaterfallRow["kind"]> = new Set(["wait", "queue", "next"]);

export function Waterfall({
  run,
  steps,
  nodes,
  chosen,
  onChoose,
  children,
}: {
  run: TimedRun;
  steps: readonly Step[];
  nodes: Nodes;
  /** The number of a step; 0 for the run itself. */
  chosen: number | undefined;
  onChoose: (nth: number) => void;
  /** Shown below the rows. */
  children?: ReactNode;
}) {
  const now = useNow(!isEnded(run));
  const chosenStep = useMemo(() => steps.find(({ nth }) => nth === chosen), [steps, chosen]);
  const rows = useMemo(
    () =>
      rowsOf(run, steps, {
        isWaitNode: (node) => nodes.get(node)?.type === "Wait",
        expandedStep: chosenStep,
        now,
      }),
    [run, steps, nodes, chosenStep, now],
  );
  const span = useMemo(() => spanOf(rows, now), [rows, now]);
  const scroller = useRef<HTMLDivElement>(null);
  // A stable function: a new one makes the virtualizer measure all rows again.
  const getItemKey = useCallback((index: number) => rows[index]?.key ?? index, [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey,
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls only when another step is chosen, or when the chosen step is loaded
  useEffect(() => {
    const index = rows.findIndex(({ nth, kind }) => nth === chosen && kind !== "wait");
    if (index > 0) virtual.scrollToIndex(index);
  }, [chosen, chosenStep === undefined]);
  return (
    <section aria-label="Steps over time" className="flex min-h-0 min-w-0 flex-1 flex-col">
      <Axis span={span} />
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
        <ol className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const row = rows[index];
            return (
              row && (
                <li
                  key={key}
                  className="absolute top-0 w-full"
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <Row
                    row={row}
                    run={run}
                    node={row.step && nodes.get(row.step.node_id)}
                    span={span}
                    // A row that has ended is rendered again only if the scale changes.
                    now={row.to ?? now}
                    isChosen={row.nth === chosen && !NEVER_HIGHLIGHTED.has(row.kind)}
                    onChoose={onChoose}
                  />
                </li>
              )
            );
          })}
        </ol>
        {children}
      </div>
    </section>
  );
}

function Axis({ span }: { span: Span }) {
  const total = span.to - span.from;
  return (
    <div className="fall-row head" aria-hidden>
      <span />
      <div className="fall-bar">
        {ticksOf(span).map((tick) => (
          <span key={tick} style={{ left: `${(100 * tick) / total}%` }}>
            {tickText(tick, total)}
          </span>
        ))}
      </div>
      <span />
    </div>
  );
}

/** Below a minute, all ticks of an axis have the same unit. */
function tickText(ms: number, total: number): string {
  if (ms === 0) return "0";
  return total >= 1_000 && ms < 60_000 ? `${ms / 1_000} s` : duration(ms);
}

const Row = memo(function Row({
  row,
  run,
  node,
  span,
  now,
  isChosen,
  onChoose,
}: {
  row: WaterfallRow;
  run: Pick<RunFields, "status">;
  node: FlowNode | undefined;
  span: Span;
  now: number;
  isChosen: boolean;
  onChoose: (nth: number) => void;
}) {
  const { kind, step, isWait } = row;
  const { left, width, ms, side } = barOf(row, span, now);
  const isSkipped = step?.status === "skipped";
  const text = textOf(row, run);
  return (
    <div className={cx("fall-row", isChosen && "chosen")}>
      <button
        type="button"
        onClick={() => onChoose(row.nth)}
        aria-current={isChosen || undefined}
        className={cx((kind === "part" || kind === "wait" || kind === "queue") && "pl-6")}
      >
        <RowName row={row} node={node} />
      </button>
      <div className="fall-bar">
        {!isSkipped && (
          <i
            role="img"
            aria-label={labelOf(row, run)}
            className={isWait ? "wait" : kind === "run" ? RUN_BARS[run.status] : step?.status}
            style={{ left: `${left}%`, width: `${width}%` }}
          />
        )}
        {text && (side || step?.error) && (
          <span
            className={cx("truncate", side ?? "over", step?.error && "text-red")}
            style={
              side === "after"
                ? { left: `calc(${left + width}% + 12px)` }
                : { right: side === "before" ? `calc(${100 - left}% + 8px)` : 0 }
            }
          >
            {text}
          </span>
        )}
      </div>
      <code className="text-right type-code-s text-ink-2">{isSkipped ? "" : duration(ms)}</code>
    </div>
  );
});

/** Describes the colour of a bar for screen readers. */
function labelOf({ kind, step }: WaterfallRow, { status }: Pick<RunFields, "status">): string {
  if (kind === "wait" || kind === "queue") return "waits";
  return step ? signalOfStep(step.status).label : signalOfRun(status).label;
}

const RUN_BARS: Record<RunFields["status"], string> = {
  queued: "wait",
  held: "wait",
  running: "running",
  waiting: "waiting",
  succeeded: "done",
  failed: "failed",
  cancelled: "cancelled",
};

function RowName({
  row: { kind, step, isRetried },
  node,
}: {
  row: WaterfallRow;
  node: FlowNode | undefined;
}) {
  if (kind === "run")
    return (
      <>
        <TrainTrack className="icon text-ink-2" aria-hidden />
        <b className="truncate font-[600] text-ink">Run</b>
      </>
    );
  if (kind === "queue") return <span className="text-ink-2">queued</span>;
  if (!step) return null;
  if (kind === "wait")
    return <span className="truncate text-ink-2">waits before attempt {step.attempt + 1}</span>;
  const Icon = iconOf(node?.type ?? "");
  const name = partText(step) ?? node?.name ?? step.node_id;
  const isPart = kind === "part";
  const details = [isRetried && ordinal(step.attempt), !isPart && iterationText(step)];
  return (
    <>
      {!isPart && <Icon className="icon text-ink-2" aria-hidden />}
      <span className={cx("truncate", isPart ? "text-ink-2" : "font-[560] text-ink")} title={name}>
        {name}
      </span>
      <span className="flex-none text-ink-3">{details.filter(Boolean).join(" · ")}</span>
    </>
  );
}

/** The text beside the bar: the error, or the port at which the run continued. */
function textOf({ kind, step }: WaterfallRow, { status }: Pick<RunFields, "status">): string {
  if (kind === "run") return signalOfRun(status).label;
  if (kind === "queue" || kind === "wait" || !step) return "";
  if (step.error) return step.error.message;
  if (step.status === "skipped" || step.status === "waiting") return step.status;
  return step.port ?? "";
}
