/**
 * The waits of one run. While one of its nodes is working, waits use a timer. When no node is working
 * and every wait is longer than `suspendAfterMs`, the run is suspended: it waits in the store, and
 * uses neither memory nor a slot.
 */
import type { Timers } from "../lib/timers.ts";

export interface Suspension {
  /** The task counts as working until it settles. */
  work<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Called within `work`: until the task settles, its caller does not count as working. */
  idle<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Waits until `due` or until the signal is aborted. */
  until(due: number, signal: AbortSignal): Promise<void>;
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
    // With a timer, because the next node may start right after this one.
    if (working === 0 && delay > suspendAfterMs) cancelTimer = timers.after(0, () => suspend(next));
    else cancelTimer = timers.after(Math.min(MAX_TIMER_MS, delay), endDue);
  };
  const endDue = () => {
    for (const { due, end } of [...waits]) if (due <= timers.now()) end();
    schedule();
  };
  const count = (change: 1 | -1) => {
    working += change;
    schedule();
  };
  const idle: Suspension["idle"] = async (task) => {
    count(-1);
    try {
      return await task();
    } finally {
      count(1);
    }
  };

  return {
    async work(task) {
      count(1);
      try {
        return await task();
      } finally {
        count(-1);
      }
    },
    idle,
    until: (due, signal) =>
      idle(
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
