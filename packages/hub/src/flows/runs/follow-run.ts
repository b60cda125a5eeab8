/**
 * Yields the changes of a run until the run ends, in any process. The first changes contain the steps
 * that are stored already. Later changes contain new steps and steps that have changed. A change is
 * read only when the consumer requests it, and after a notice of the store. If a notice is lost, its
 * change is read up to 30 s later.
 */
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import { type Run, type Step, type StepPage, type StepQuery, TERMINAL_STATUSES } from "./model.ts";

export interface RunChange {
  run: Run;
  /** New steps, and steps whose status or output changed. */
  steps: Step[];
}

export interface FollowRunOptions {
  store: Pick<Store, "enableStepNotices" | "previewRun" | "listSteps" | "subscribe">;
  timers: Pick<Timers, "now" | "after" | "defer">;
}

/** Steps that are recorded within this time arrive as one change. */
const MIN_INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 30_000;

/** `run_steps` notices are enabled for this time. They are enabled again after half of it. */
const NOTICES_MS = 2 * MAX_INTERVAL_MS;

/** The maximum size of one change. A client that stops reading keeps one change in memory. */
const PAGE_SIZE = { limit: 100, bytes: 64 * 1024 };

/** Ends when the run has ended, when it does not exist, and when `signal` is aborted. */
export async function* followRun(
  { store, timers }: FollowRunOptions,
  tenant: string,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<RunChange, void> {
  const [spacing, idle] = [createPause(timers), createPause(timers)];
  const position = createStepPosition();
  let hasChanged = false;
  let hasEnded = false;
  let noticesUntil = 0;
  const unsubscribe = store.subscribe((notice) => {
    if (!isAbout(notice, id)) return;
    hasChanged = true;
    hasEnded ||= notice.topic === "run_ended";
    if (hasEnded) spacing.end();
    idle.end();
  });
  const onAbort = () => {
    spacing.end();
    idle.end();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal.aborted) {
      hasChanged = false;
      const now = timers.now();
      if (noticesUntil - now <= NOTICES_MS / 2) {
        noticesUntil = now + NOTICES_MS;
        await store.enableStepNotices(tenant, id, noticesUntil);
      }
      // The read after the end of the run is the last one, even if the run was retried since: a retry
      // changes steps that were yielded already.
      const isLast = hasEnded;
      const run = await store.previewRun(tenant, id);
      if (!run) return;
      for (let hasMore = true; hasMore && !signal.aborted; ) {
        const page = await store.listSteps(tenant, id, position.query());
        hasMore = page.next !== null;
        yield { run, steps: position.advance(page) };
        // A synchronous store and a fast client would otherwise block the event loop.
        if (hasMore) await new Promise<void>((resolve) => timers.defer(resolve));
      }
      if (isLast || TERMINAL_STATUSES.includes(run.status)) return;
      if (!hasEnded && !signal.aborted) await spacing.wait(MIN_INTERVAL_MS);
      if (!hasChanged && !signal.aborted) await idle.wait(MAX_INTERVAL_MS);
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", onAbort);
  }
}

const isAbout = (notice: Notice, id: string): boolean =>
  notice.topic === "gap" ||
  (notice.topic === "run_steps" && notice.runs.includes(id)) ||
  ((notice.topic === "run_ended" || notice.topic === "run_cancel") && notice.run === id);

/** A wait that `end` can end early. */
function createPause({ after }: Pick<Timers, "after">) {
  let end = () => {};
  return {
    end: () => end(),
    wait: (ms: number) =>
      new Promise<void>((resolve) => {
        const cancel = after(ms, resolve);
        end = () => {
          cancel();
          resolve();
        };
      }),
  };
}

/**
 * Tracks which steps were read. Of these, only open steps can still change, so they are read again with
 * the pages after each notice.
 */
function createStepPosition() {
  let last = 0;
  /** The open steps that the next page reads again. */
  let unread: number[] = [];
  /** By the number of the step: its status and output, as JSON. */
  const open = new Map<number, string>();
  return {
    query: (): StepQuery => ({ ...PAGE_SIZE, after: last, open: unread }),
    /** Returns the steps that are new or have changed. */
    advance({ items, next, unread: stillUnread }: StepPage): Step[] {
      const changed = items.filter((step) => {
        const { nth, status, output } = step;
        last = Math.max(last, nth);
        if (status !== "running" && status !== "waiting") {
          open.delete(nth);
          return true;
        }
        const state = JSON.stringify([status, output]);
        if (open.get(nth) === state) return false;
        open.set(nth, state);
        return true;
      });
      // The numbers have gaps, which can be larger than a page.
      last = Math.max(last, next ?? 0);
      unread = next === null ? [...open.keys()].sort((a, b) => a - b) : stillUnread;
      return changed;
    },
  };
}
