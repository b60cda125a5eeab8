/**
 * Manages the waits of one run. While a node is working, a wait uses a timer. When no node is working
 * and every wait is longer than `suspendAfterMs`, the run is suspended: it waits in the store, and
 * uses neither memory nor a slot.
 */
import type { Timers } from "../lib/timers.ts";

export interface Suspension {
  /** Runs a task, which counts as working until it settles. */
  work<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Called within `work`. While the caller waits for the task, it does not count as working. */
  waitFor<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Waits until `due` or until the signal is aborted. */
  waitUntil(due: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface SuspensionOptions {
  timers: Timers;
  suspendAfterMs: number;
  /** Called when no node is working, and none will work before `due`. */
  suspend(due: number): void;
}

/** The longest delay that timers accept. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export function createSuspension(options: SuspensionOptions): Suspension {
  const { timers, suspendAfterMs, suspend } = options;
  const waits = new Set<{ due: number; end(): void }>();
  let working = 0;
  let closed = false;
  let cancelTimer = () => {};

  const schedule = () => {
    cancelTimer();
    if (closed || waits.size === 0) return;
    const next = Math.min(...[...waits].map(({ due }) => due));
    const delay = Math.max(0, next - timers.now());
    // Suspends in a timer, because the next node may start right after one has ended.
    if (working === 0 && delay > suspendAfterMs) cancelTimer = timers.after(0, () => suspend(next));
    else cancelTimer = timers.after(Math.min(MAX_TIMER_MS, delay), endDue);
  };
  const endDue = () => {
    for (const { due, end } of [...waits]) if (due <= timers.now()) end();
    schedule();
  };
  const changeWorking = (change: 1 | -1) => {
    working += change;
    schedule();
  };
  const waitFor: Suspension["waitFor"] = async (task) => {
    changeWorking(-1);
    try {
      return await task();
    } finally {
      changeWorking(1);
    }
  };

  return {
    async work(task) {
      changeWorking(1);
      try {
        return await task();
      } finally {
        changeWorking(-1);
      }
    },
    waitFor,
    waitUntil: (due, signal) =>
      waitFor(
        () =>
          new Promise((resolve) => {
            if (signal.aborted) return resolve();
            const wait = {
              due,
              end() {
                waits.delete(wait);
                signal.removeEventListener("abort", wait.end);
                resolve();
              },
            };
            signal.addEventListener("abort", wait.end, { once: true });
            waits.add(wait);
            schedule();
          }),
      ),
    close() {
      closed = true;
      cancelTimer();
    },
  };
}
