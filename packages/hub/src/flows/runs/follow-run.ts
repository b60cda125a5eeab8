/** How callers of this process wait for a run that any process executes: for its changes, and for its end. */

import type { Timers } from "../../kernel/lib/timers.ts";
import { awaitStorage } from "../../kernel/store/availability.ts";
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

/**
 * Yields the changes of a run until the run ends, in any process. The first changes contain the steps
 * that are stored already. Later changes contain new steps and steps that have changed. A change is
 * read only when the consumer requests it, and after a notice of the store. If a notice is lost, its
 * change is read up to 30 s later.
 *
 * Ends when the run has ended, when it does not exist, and when `signal` is aborted.
 */
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

export interface WaitersOptions {
  store: Pick<Store, "getRun" | "cancelRun">;
  timers: Pick<Timers, "now" | "after">;
  onError(error: unknown): void;
}

/** Provides promises that resolve when a run has ended, in this process or in another. */
export interface Waiters {
  /** Resolves with the run when it has ended. Rejects if the run was deleted, and on `reject` or `close`. */
  untilEnded(tenant: string, run: string, options: WaitOptions): Promise<Run>;
  /** Reads the run again, and resolves its waiters if it has ended. */
  check(run: string): void;
  checkAll(): void;
  /** Rejects the waiters of the run. */
  reject(run: string, error: Error): void;
  /** Rejects every waiter. */
  close(reason: string): void;
}

interface WaitOptions {
  /** True if this process has just claimed the run. Such a run has not ended, so it is not read. */
  justClaimed: boolean;
  /** Resolves when the run is stored. Before that, it cannot be cancelled. */
  stored: Promise<void>;
  /** Cancels the run when it is aborted. */
  signal?: AbortSignal | undefined;
}

interface Waiter {
  check(): void;
  reject(error: Error): void;
}

export function createWaiters({ store, timers, onError }: WaitersOptions): Waiters {
  const waiting = new Map<string, Set<Waiter>>();
  let closed = false;
  const check = (run: string): void => {
    for (const waiter of waiting.get(run) ?? []) waiter.check();
  };

  return {
    untilEnded(tenant, id, { justClaimed, stored, signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<Run>();
      promise.catch(() => {}); // no unhandled rejection if the caller does not await it
      const isWaiting = () => !closed && waiters.has(waiter);
      const cancel = () => {
        const cancelRun = () => store.cancelRun(tenant, id, timers.now());
        if (closed) return;
        void stored.then(() => awaitStorage(timers, isWaiting, cancelRun)).catch(onError);
      };
      const waiters = waiting.get(id) ?? new Set();
      waiting.set(id, waiters);
      const removeWaiter = () => {
        signal?.removeEventListener("abort", cancel);
        if (waiters.delete(waiter) && waiters.size === 0) waiting.delete(id);
      };
      const checkRun = async () => {
        try {
          const run = await awaitStorage(timers, isWaiting, () => store.getRun(tenant, id));
          if (run && !TERMINAL_STATUSES.includes(run.status)) return;
          removeWaiter();
          if (run) resolve(run);
          else reject(new Error("The run no longer exists."));
        } catch (error) {
          onError(error);
        }
      };
      const waiter: Waiter = {
        check: () => void checkRun(),
        reject(error) {
          removeWaiter();
          reject(error);
        },
      };
      waiters.add(waiter);
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted) cancel();
      if (!justClaimed) waiter.check();
      return promise;
    },
    check,
    checkAll() {
      for (const run of waiting.keys()) check(run);
    },
    reject(run, error) {
      for (const waiter of waiting.get(run) ?? []) waiter.reject(error);
    },
    close(reason) {
      closed = true;
      for (const waiters of waiting.values())
        for (const waiter of waiters) waiter.reject(new Error(reason));
    },
  };
}
