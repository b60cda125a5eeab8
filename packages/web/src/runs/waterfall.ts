/** The steps of a run over time: one row for each attempt, each wait and the time in the queue. */
import type { Step } from "../canvas/run-states.ts";
import { isEnded, type RunView } from "./run-data.ts";
import { iterationOf, stepKey } from "./step-names.ts";

export interface FallRow {
  key: string;
  /** `next`: an attempt under way, which is recorded when it ends. */
  kind: "run" | "queue" | "step" | "wait" | "part" | "next";
  /** The number of the step that the row belongs to; 0 for the run itself. */
  nth: number;
  step: Step | undefined;
  /** In milliseconds since 1970; `to` is null as long as it goes on. */
  from: number;
  to: number | null;
  /** Nothing is executed in this time. */
  isWait: boolean;
  /** A step has several attempts, so the row says which one it is. */
  isRetried: boolean;
}

export type TimedRun = Pick<RunView, "status" | "created_at" | "started_at" | "finished_at">;

/** A run that starts within this time is not worth a row of its own. */
const MIN_QUEUE_MS = 10;

interface FallOptions {
  /** Whether the node only waits. */
  isWait?: (node: string) => boolean;
  /** The step whose parts are shown too. */
  open?: Pick<Step, "node_id" | "item"> | undefined;
  /** In milliseconds since 1970. */
  now?: number;
}

export function rowsOf(
  run: TimedRun,
  steps: readonly Step[],
  { isWait = () => false, open, now = Date.now() }: FallOptions = {},
): FallRow[] {
  const newest = new Map<string, Step>();
  for (const step of steps) if (!isPart(step)) newest.set(stepKey(step), step);
  const rows = runRows(run);
  const before = new Map<string, Step>();
  const openKey = open && stepKey(open);
  for (const step of steps) {
    const key = stepKey(step);
    if (isPart(step)) {
      if (key === openKey) rows.push(stepRow("part", step, { isRetried: step.attempt > 1 }));
      continue;
    }
    const former = before.get(key);
    if (former && former.attempt < step.attempt) rows.push(...waitRow(former, step));
    before.set(key, step);
    const last = newest.get(key);
    const retry = last === step && !isEnded(run) ? retryAt(step) : undefined;
    rows.push(
      stepRow("step", step, {
        isWait: step.status === "waiting" || isWait(step.node_id),
        isRetried: step.attempt > 1 || last !== step || retry !== undefined,
      }),
    );
    if (retry !== undefined) rows.push(...nextRows(step, retry, now));
  }
  return rows;
}

const isPart = ({ item }: Step): boolean => item.includes("#");
const at = (time: string | null): number | null => (time === null ? null : Date.parse(time));

function runRows(run: TimedRun): FallRow[] {
  const created = Date.parse(run.created_at);
  const started = at(run.started_at);
  const finished = at(run.finished_at);
  const blank = { nth: 0, step: undefined, isRetried: false };
  const rows: FallRow[] = [
    { ...blank, key: "run", kind: "run", from: started ?? created, to: finished, isWait: false },
  ];
  const queuedUntil = started ?? finished;
  if (queuedUntil === null || queuedUntil - created >= MIN_QUEUE_MS)
    rows.push({
      ...blank,
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
  given: { isWait?: boolean; isRetried: boolean },
): FallRow => ({
  key: String(step.nth),
  kind,
  nth: step.nth,
  step,
  from: Date.parse(step.started_at),
  to: at(step.finished_at),
  isWait: false,
  ...given,
});

/** The wait before the next attempt and, as soon as it is due, the attempt itself. */
function nextRows(failed: Step, dueAt: number, now: number): FallRow[] {
  if (now < dueAt) return waitRow(failed, undefined);
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
  return [...waitRow(failed, next), { ...row, key: `next-${failed.nth}` }];
}

/** The wait between two attempts; without `next`, it goes on. */
function waitRow(former: Step, next: Step | undefined): FallRow[] {
  const from = at(former.finished_at);
  const to = next ? Date.parse(next.started_at) : null;
  if (from === null || (to !== null && to <= from)) return [];
  return [
    {
      key: `wait-${former.nth}`,
      kind: "wait",
      nth: next?.nth ?? former.nth,
      step: former,
      from,
      to,
      isWait: true,
      isRetried: true,
    },
  ];
}

/** When the next attempt at a failed step is due. */
export function retryAt({ status, output }: Pick<Step, "status" | "output">): number | undefined {
  if (status !== "failed" || typeof output !== "object" || output === null) return undefined;
  const { retry_at } = output as { retry_at?: unknown };
  return typeof retry_at === "number" ? retry_at : undefined;
}

/** The time that the waterfall shows. */
export interface Span {
  from: number;
  to: number;
}

export function spanOf(rows: readonly FallRow[], now: number): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const row of rows) {
    from = Math.min(from, row.from);
    to = Math.max(to, row.to ?? now, row.from);
  }
  return from > to ? { from: now, to: now + 1 } : { from, to: Math.max(to, from + 1) };
}

export interface Bar {
  /** In percent of the span. */
  left: number;
  width: number;
  ms: number;
  /** On which side of the bar there is space for a text. */
  side: "after" | "before" | undefined;
}

/** A text needs about so much of the width. */
const TEXT_SHARE = 34;

export function barOf({ from, to }: Pick<FallRow, "from" | "to">, span: Span, now: number): Bar {
  const whole = span.to - span.from;
  const ms = Math.max(0, (to ?? now) - from);
  const left = Math.min(100, (100 * (from - span.from)) / whole);
  const width = Math.min(100 - left, (100 * ms) / whole);
  const right = 100 - left - width;
  return {
    left,
    width,
    ms,
    side: right >= TEXT_SHARE ? "after" : left >= TEXT_SHARE ? "before" : undefined,
  };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MAX_TICKS = 5;
const TICK_STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 30, 100, 365].map((count) => count * DAY),
];

/** Round times below the span, in milliseconds after its start. */
export function ticksOf({ from, to }: Span): number[] {
  const whole = to - from;
  const step = TICK_STEPS.find((each) => whole / each <= MAX_TICKS) ?? whole;
  const ticks: number[] = [];
  for (let tick = 0; tick <= whole; tick += step) ticks.push(tick);
  return ticks;
}

/** The step because of which the run failed. */
export function culpritOf(
  { status, error }: Pick<RunView, "status" | "error">,
  steps: readonly Step[],
): number | undefined {
  if (status !== "failed" || !error?.node_id) return undefined;
  return steps.findLast(
    (step) => step.node_id === error.node_id && step.status === "failed" && !isPart(step),
  )?.nth;
}

/** All attempts at the same step, oldest first. */
export const attemptsOf = (
  steps: readonly Step[],
  { node_id, item }: Pick<Step, "node_id" | "item">,
): Step[] => steps.filter((step) => step.node_id === node_id && step.item === item);

/** The newest step of a node that is not a part of another one. */
export const newestOf = (steps: readonly Step[], node: string): Step | undefined =>
  steps.findLast((step) => step.node_id === node && !isPart(step));

/** The parts of one step, oldest first. */
export const partsOf = (steps: readonly Step[], owner: Pick<Step, "node_id" | "item">): Step[] =>
  steps.filter(
    (step) =>
      step.node_id === owner.node_id && isPart(step) && iterationOf(step) === iterationOf(owner),
  );
