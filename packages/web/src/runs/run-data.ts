/** A run and those of its steps that have been loaded, in the order of their numbers. */
import type { RunWithSteps } from "../api/types.ts";
import type { Step } from "../canvas/run-states.ts";
import { NOT_KEPT } from "./preview.ts";

export type RunView = Omit<RunWithSteps, "steps" | "next_cursor">;

export interface RunData {
  run: RunView;
  steps: readonly Step[];
  /** The cursor of the next page of steps; null if all pages have been loaded. */
  next: string | null;
}

export type RunPage = RunView & { steps: Step[]; next_cursor?: string | null };

/** A message of the live stream: fields of the run that have changed, and steps that have. */
export type RunChange = Partial<RunView> & { steps?: Step[] };

/** So many steps keep their values. Those of the others are loaded when they are shown. */
export const MAX_KEPT = 2_000;

const ENDED: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled"]);
export const isEnded = ({ status }: Pick<RunView, "status">): boolean => ENDED.has(status);

const isOpen = ({ status }: Step): boolean => status === "running" || status === "waiting";

/** Reads the run again, or for the first time. Pages that were loaded before stay. */
export function withPage(before: RunData | undefined, page: RunPage): RunData {
  const { steps, next_cursor = null, ...run } = page;
  const known = before?.run.id === run.id ? before : undefined;
  return {
    run,
    steps: mergeInto(known ? stepsIn(known, run) : [], steps),
    next: known && known.steps.length > steps.length ? known.next : next_cursor,
  };
}

export const withMoreSteps = (
  before: RunData,
  { items, next_cursor }: { items: readonly Step[]; next_cursor: string | null },
): RunData => ({ ...before, steps: mergeInto(before.steps, items), next: next_cursor });

export function withChanges(before: RunData, changes: readonly RunChange[]): RunData {
  let { run } = before;
  const changed: Step[] = [];
  for (const { steps = [], ...fields } of changes) {
    run = { ...run, ...fields };
    changed.push(...steps);
  }
  return { ...before, run, steps: mergeInto(stepsIn(before, run), changed) };
}

/** The hub deletes the skipped steps of a run that is retried: it may take another path. */
const stepsIn = (before: RunData, run: RunView): readonly Step[] =>
  isEnded(before.run) && !isEnded(run)
    ? before.steps.filter(({ status }) => status !== "skipped")
    : before.steps;

/** Steps that have changed replace their former selves; others are added in their place. */
export function mergeInto(before: readonly Step[], changed: readonly Step[]): readonly Step[] {
  const added = new Map<number, Step>();
  let steps: Step[] | undefined;
  for (const step of changed) {
    const at = findStep(before, step.nth);
    const known = before[at];
    if (known === undefined) added.set(step.nth, step);
    // A response that is older than the last message of the stream.
    else if (isOpen(known) || !isOpen(step)) {
      steps ??= [...before];
      steps[at] = keep(step, at);
    }
  }
  if (added.size === 0) return steps ?? before;
  const last = before.at(-1)?.nth ?? 0;
  const fresh = [...added.values()].sort(byNumber);
  const isAppended = (fresh[0]?.nth ?? 0) > last;
  const all = [...(steps ?? before), ...fresh];
  if (!isAppended) all.sort(byNumber);
  return before.length + fresh.length <= MAX_KEPT ? all : all.map(keep);
}

const byNumber = (a: Step, b: Step): number => a.nth - b.nth;

/** The position of a step, or -1. The numbers have gaps. */
export function findStep(steps: readonly Step[], nth: number): number {
  let [from, to] = [0, steps.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((steps[middle]?.nth ?? 0) < nth) from = middle + 1;
    else to = middle;
  }
  return steps[from]?.nth === nth ? from : -1;
}

const isLarge = (value: Step["input"]): boolean =>
  typeof value === "object" ? value !== null : typeof value === "string" && value.length > 100;

/** The waits before another attempt are in the output of open and failed steps, which is small. */
function keep(step: Step, at: number): Step {
  if (at < MAX_KEPT) return step;
  const input = isLarge(step.input) ? NOT_KEPT : step.input;
  const output = step.status === "done" && isLarge(step.output) ? NOT_KEPT : step.output;
  return input === step.input && output === step.output ? step : { ...step, input, output };
}
