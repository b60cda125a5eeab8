/** A run and the steps that are loaded so far, sorted by their numbers. */
import type { RunWithSteps } from "@signalbox/contract";
import type { Step } from "../canvas/run-states.ts";
import { isOmitted, isPreview, OMITTED } from "./preview.ts";

export type RunFields = Omit<RunWithSteps, "steps" | "next_cursor">;

export interface RunData {
  run: RunFields;
  steps: readonly Step[];
  /** The cursor of the next page of steps; null if all pages have been loaded. */
  next: string | null;
}

export type RunPage = RunFields & { steps: Step[]; next_cursor?: string | null };

/** A message of the live stream: the changed fields of the run, and its new and changed steps. */
export type RunChange = Partial<RunFields> & { steps?: Step[] };

/** Only the first steps keep their values in memory. Values of later steps are loaded when they are shown. */
export const MAX_STEPS_WITH_VALUES = 2_000;

const ENDED: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled"]);
export const isEnded = ({ status }: Pick<RunFields, "status">): boolean => ENDED.has(status);

const isOpen = ({ status }: Step): boolean => status === "running" || status === "waiting";

/** Adds the first page, which also has the newest fields of the run. Pages that were loaded before stay. */
export function withPage(before: RunData | undefined, page: RunPage): RunData {
  const { steps, next_cursor = null, ...run } = page;
  const sameRun = before?.run.id === run.id ? before : undefined;
  return {
    run,
    steps: mergeSteps(sameRun ? withoutStaleSteps(sameRun, run) : [], steps),
    next: sameRun && sameRun.steps.length > steps.length ? sameRun.next : next_cursor,
  };
}

export const withMoreSteps = (
  before: RunData,
  { items, next_cursor }: { items: readonly Step[]; next_cursor: string | null },
): RunData => ({ ...before, steps: mergeSteps(before.steps, items), next: next_cursor });

export function withChanges(before: RunData, changes: readonly RunChange[]): RunData {
  let { run } = before;
  const changed: Step[] = [];
  for (const { steps = [], ...fields } of changes) {
    run = { ...run, ...fields };
    changed.push(...steps);
  }
  return { ...before, run, steps: mergeSteps(withoutStaleSteps(before, run), changed) };
}

/** When a run is retried, the hub deletes its skipped steps, because the run may take another branch. */
const withoutStaleSteps = (before: RunData, run: RunFields): readonly Step[] =>
  isEnded(before.run) && !isEnded(run)
    ? before.steps.filter(({ status }) => status !== "skipped")
    : before.steps;

/** Replaces changed steps, and inserts new ones in the order of their numbers. */
export function mergeSteps(before: readonly Step[], changed: readonly Step[]): readonly Step[] {
  const newByNumber = new Map<number, Step>();
  let steps: Step[] | undefined;
  for (const step of changed) {
    const index = findStep(before, step.nth);
    const known = before[index];
    if (known === undefined) newByNumber.set(step.nth, step);
    // An open state of a step that has ended comes from an outdated response, and is ignored.
    else if (isOpen(known) || !isOpen(step)) {
      steps ??= [...before];
      steps[index] = omitValues(step, index);
    }
  }
  if (newByNumber.size === 0) return steps ?? before;
  const last = before.at(-1)?.nth ?? 0;
  const newSteps = [...newByNumber.values()].sort(byNumber);
  const isAppended = (newSteps[0]?.nth ?? 0) > last;
  const all = [...(steps ?? before), ...newSteps];
  if (!isAppended) all.sort(byNumber);
  return before.length + newSteps.length <= MAX_STEPS_WITH_VALUES ? all : all.map(omitValues);
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

/** Keeps the size of a large value, so that the page can tell without a request whether it can be pinned. */
function omit(value: Step["input"]): Step["input"] {
  if (!isPreview(value)) return OMITTED;
  return isOmitted(value) ? value : { ...OMITTED, bytes: value.bytes };
}

/**
 * Omits large values of steps after the first ones. Outputs of open and failed steps stay: they are small, and
 * contain the time of the next attempt (`retry_at`).
 */
function omitValues(step: Step, index: number): Step {
  if (index < MAX_STEPS_WITH_VALUES) return step;
  const input = isLarge(step.input) ? omit(step.input) : step.input;
  const output = step.status === "done" && isLarge(step.output) ? omit(step.output) : step.output;
  return input === step.input && output === step.output ? step : { ...step, input, output };
}
