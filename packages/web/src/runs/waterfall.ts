/**
 * Computes the rows of a waterfall chart: the run, its time in the queue, each attempt of a step, and each
 * wait between attempts.
 */
import type { Step } from "../canvas/run-states.ts";
import { isEnded, type RunFields } from "./run-data.ts";
import { isPart, iterationOf, stepKey } from "./step-names.ts";

export interface WaterfallRow {
  key: string;
  /** `next` is a running attempt. The hub records it only when it ends. */
  kind: "run" | "queue" | "step" | "wait" | "part" | "next";
  /** The number of the step that the row belongs to; 0 for the run itself. */
  nth: number;
  step: Step | undefined;
  /** Unix times in milliseconds; `to` is null if the row has not ended. */
  from: number;
  to: number | null;
  /** Whether the run only waits during this time. */
  isWait: boolean;
  /** Whether the step has several attempts. The row then shows the number of its attempt. */
  isRetried: boolean;
}

export type TimedRun = Pick<RunFields, "status" | "created_at" | "started_at" | "finished_at">;

/** A shorter time in the queue has no row. */
const MIN_QUEUE_MS = 10;

interface RowOptions {
  /** Whether the node does nothing but wait. */
  isWaitNode?: (node: string) => boolean;
  /** The step whose parts have rows too. */
  expandedStep?: Pick<Step, "node_id" | "item"> | undefined;
  /** A Unix time in milliseconds. */
  now?: number;
}

export function rowsOf(
  run: TimedRun,
  steps: readonly Step[],
  { isWaitNode = () => false, expandedStep, now = Date.now() }: RowOptions = {},
): WaterfallRow[] {
  const newestAttempts = new Map<string, Step>();
  for (const step of steps) if (!isPart(step)) newestAttempts.set(stepKey(step), step);
  const rows = runRows(run);
  const previousAttempts = new Map<string, Step>();
  const expandedKey = expandedStep && stepKey(expandedStep);
  for (const step of steps) {
    const key = stepKey(step);
    if (isPart(step)) {
      if (key === expandedKey) rows.push(stepRow("part", step, { isRetried: step.attempt > 1 }));
      continue;
    }
    const previous = previousAttempts.get(key);
    if (previous && previous.attempt < step.attempt) rows.push(...waitRows(previous, step));
    previousAttempts.set(key, step);
    const isNewest = newestAttempts.get(key) === step;
    const dueAt = isNewest && !isEnded(run) ? retryAt(step) : undefined;
    rows.push(
      stepRow("step", step, {
        isWait: step.status === "waiting" || isWaitNode(step.node_id),
        isRetried: step.attempt > 1 || !isNewest || dueAt !== undefined,
      }),
    );
    if (dueAt !== undefined) rows.push(...nextRows(step, dueAt, now));
  }
  return rows;
}

const parseTime = (time: string | null): number | null => (time === null ? null : Date.parse(time));

function runRows(run: TimedRun): WaterfallRow[] {
  const created = Date.parse(run.created_at);
  const started = parseTime(run.started_at);
  const finished = parseTime(run.finished_at);
  const sharedFields = { nth: 0, step: undefined, isRetried: false };
  const rows: WaterfallRow[] = [
    {
      ...sharedFields,
      key: "run",
      kind: "run",
      from: started ?? created,
      to: finished,
      isWait: false,
    },
  ];
  const queuedUntil = started ?? finished;
  if (queuedUntil === null || queuedUntil - created >= MIN_QUEUE_MS)
    rows.push({
      ...sharedFields,
      key: "queue",
      kind: "queue",
      from: created,
      to: queuedUntil,
      isWait: true,
    });
  return rows;
}

const stepRow = (
  kind: "step" | "part" | "next",
  step: Step,
  flags: { isWait?: boolean; isRetried: boolean },
): WaterfallRow => ({
  key: String(step.nth),
  kind,
  nth: step.nth,
  step,
  from: Date.parse(step.started_at),
  to: parseTime(step.finished_at),
  isWait: false,
  ...flags,
});

/** The wait before the next attempt and, as soon as it is due, the attempt itself. */
function nextRows(failed: Step, dueAt: number, now: number): WaterfallRow[] {
  if (now < dueAt) return waitRows(failed, undefined);
  const next: Step = {
    ...failed,
    attempt: failed.attempt + 1,
    status: "running",
    error: null,
    output: null,
    started_at: new Date(dueAt).toISOString(),
    finished_at: null,
  };
  const row = stepRow("next", next, { isRetried: true });
  return [...waitRows(failed, next), { ...row, key: `next-${failed.nth}` }];
}

/** The wait between two attempts. Without `next`, the wait has not ended. */
function waitRows(previous: Step, next: Step | undefined): WaterfallRow[] {
  const from = parseTime(previous.finished_at);
  const to = next ? Date.parse(next.started_at) : null;
  if (from === null || (to !== null && to <= from)) return [];
  return [
    {
      key: `wait-${previous.nth}`,
      kind: "wait",
      nth: next?.nth ?? previous.nth,
      step: previous,
      from,
      to,
      isWait: true,
      isRetried: true,
    },
  ];
}

/** Returns when the next attempt of a failed step is due; undefined if none is planned. */
export function retryAt({ status, output }: Pick<Step, "status" | "output">): number | undefined {
  if (status !== "failed" || typeof output !== "object" || output === null) return undefined;
  const { retry_at } = output as { retry_at?: unknown };
  return typeof retry_at === "number" ? retry_at : undefined;
}

/** The time range that the waterfall shows, as Unix times in milliseconds. */
export interface Span {
  from: number;
  to: number;
}

export function spanOf(rows: readonly WaterfallRow[], now: number): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const row of rows) {
    from = Math.min(from, row.from);
    to = Math.max(to, row.to ?? now, row.from);
  }
  return from > to ? { from: now, to: now + 1 } : { from, to: Math.max(to, from + 1) };
}

export interface Bar {
  /** The left edge and the width, in percent of the span. */
  left: number;
  width: number;
  ms: number;
  /** The side of the bar that has space for a text; undefined if neither side has. */
  side: "after" | "before" | undefined;
}

/** A text needs about this much of the width. */
const TEXT_PERCENT = 34;

export function barOf(
  { from, to }: Pick<WaterfallRow, "from" | "to">,
  span: Span,
  now: number,
): Bar {
  const total = span.to - span.from;
  const ms = Math.max(0, (to ?? now) - from);
  const left = Math.min(100, (100 * (from - span.from)) / total);
  const width = Math.min(100 - left, (100 * ms) / total);
  const right = 100 - left - width;
  return {
    left,
    width,
    ms,
    side: right >= TEXT_PERCENT ? "after" : left >= TEXT_PERCENT ? "before" : undefined,
  };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MAX_TICKS = 5;
const TICK_STEPS: readonly number[] = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 30, 100, 365].map((count) => count * DAY),
];

/** Returns round times for the axis, in milliseconds after the start of the span. */
export function ticksOf({ from, to }: Span): number[] {
  const total = to - from;
  const step = TICK_STEPS.find((each) => total / each <= MAX_TICKS) ?? total;
  const ticks: number[] = [];
  for (let tick = 0; tick <= total; tick += step) ticks.push(tick);
  return ticks;
}

/** Returns the number of the step whose failure ended the run. */
export function failedStepOf(
  { status, error }: Pick<RunFields, "status" | "error">,
  steps: readonly Step[],
): number | undefined {
  if (status !== "failed" || !error?.node_id) return undefined;
  return steps.findLast(
    (step) => step.node_id === error.node_id && step.status === "failed" && !isPart(step),
  )?.nth;
}

/** All attempts of the same step, oldest first. */
export const attemptsOf = (
  steps: readonly Step[],
  { node_id, item }: Pick<Step, "node_id" | "item">,
): Step[] => steps.filter((step) => step.node_id === node_id && step.item === item);

/** The newest step of a node. Parts of steps do not count. */
export const newestStepOf = (steps: readonly Step[], node: string): Step | undefined =>
  steps.findLast((step) => step.node_id === node && !isPart(step));

/** The parts of one step, oldest first. */
export const partsOf = (steps: readonly Step[], owner: Pick<Step, "node_id" | "item">): Step[] =>
  steps.filter(
    (step) =>
      step.node_id === owner.node_id && isPart(step) && iterationOf(step) === iterationOf(owner),
  );
