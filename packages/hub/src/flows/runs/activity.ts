/**
 * Tracks what one run is doing. While a task of the run works, the run has a slot; it has none while all
 * its tasks wait: for a server, a timer, a called run or each other. If the next timer ends later than
 * `suspendAfterMs`, and nothing else can continue the run, the run is suspended: it waits in the store,
 * and uses no memory either.
 */
import { createFairSlots, type FairSlots, type Release } from "../../kernel/lib/fair-slots.ts";
import type { Timers } from "../../kernel/lib/timers.ts";

export interface Activity {
  /** Runs a task, which works until it settles. Waits for a slot first, if the run has none. */
  work<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Called within `work`: waits for other tasks of the run. */
  waitFor<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Called within `work`, for a task that waits for something outside of the run, such as a server. */
  openOutside(): Outside;
  /** Called within `work`: waits until `due`, or until the signal is aborted. */
  waitUntil(due: number, signal: AbortSignal): Promise<void>;
  /** Releases the slot. Tasks that wait for a slot do not continue. */
  close(): void;
}

/** The waits of one task for what happens outside of the run. Several can be in progress at the same time. */
export interface Outside {
  /**
   * The run is not suspended during the wait. `onQueued` is called if the run then waits for a slot; the
   * returned function, when it has one.
   */
  wait<Result>(work: () => Promise<Result>, onQueued?: () => () => void): Promise<Result>;
  /** The task does not wait any longer, even if waits are still in progress. */
  close(): Promise<void>;
}

export interface ActivityOptions {
  timers: Pick<Timers, "now" | "after">;
  slots: Pick<WorkSlots, "tryAcquire" | "wait" | "releaseLater">;
  /** The tenant, app and flow of the run. */
  path: readonly string[];
  suspendAfterMs: number;
  /** Called when nothing can continue the run before `due`. */
  suspend(due: number): void;
}

/** The longest delay that timers accept. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export function createActivity(options: ActivityOptions): Activity {
  const { timers, suspendAfterMs, suspend } = options;
  const waits = new Set<{ due: number; end(): void }>();
  const slot = createSlot(options, () => working > 0);
  let working = 0;
  let outside = 0;
  let closed = false;
  let cancelTimer = () => {};

  const schedule = () => {
    cancelTimer();
    if (closed || waits.size === 0) return;
    const next = Math.min(...[...waits].map(({ due }) => due));
    const delay = Math.max(0, next - timers.now());
    // Suspends in a timer, because the next node may start right after one has ended.
    if (working === 0 && outside === 0 && delay > suspendAfterMs)
      cancelTimer = timers.after(0, () => suspend(next));
    else cancelTimer = timers.after(Math.min(MAX_TIMER_MS, delay), endDue);
  };
  const endDue = () => {
    for (const { due, end } of [...waits]) if (due <= timers.now()) end();
    schedule();
  };
  const startWorking = (): Promise<void> | undefined => {
    working += 1;
    schedule();
    return slot.acquire();
  };
  const stopWorking = () => {
    working -= 1;
    if (working === 0) slot.releaseLater();
    schedule();
  };
  const waitFor: Activity["waitFor"] = async (task) => {
    stopWorking();
    try {
      return await task();
    } finally {
      await startWorking();
    }
  };

  return {
    async work(task) {
      const acquired = startWorking();
      if (acquired) await acquired;
      try {
        return await task();
      } finally {
        stopWorking();
      }
    },
    waitFor,
    openOutside() {
      let waiting = 0;
      let isClosed = false;
      const resume = async (onQueued?: () => () => void) => {
        outside -= 1;
        const acquired = startWorking();
        if (!acquired) return;
        const onAcquired = onQueued?.();
        await acquired;
        onAcquired?.();
      };
      return {
        async wait(work, onQueued) {
          if (isClosed) return work();
          if (waiting === 0) {
            outside += 1;
            stopWorking();
          }
          waiting += 1;
          try {
            return await work();
          } finally {
            waiting -= 1;
            if (!isClosed && waiting === 0) await resume(onQueued);
          }
        },
        async close() {
          isClosed = true;
          if (waiting > 0) await resume();
        },
      };
    },
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
      slot.close();
    },
  };
}

/** The slot of one run, which its tasks share. */
function createSlot({ slots, path }: ActivityOptions, isNeeded: () => boolean) {
  let release: Release | undefined;
  let acquiring: Promise<void> | undefined;
  let stopWaiting = () => {};
  let closed = false;
  const releaseNow = () => {
    release?.();
    release = undefined;
  };
  return {
    /** Returns undefined if the run has the slot. */
    acquire(): Promise<void> | undefined {
      if (release || closed) return undefined;
      if (acquiring) return acquiring;
      release = slots.tryAcquire(path);
      if (release) return undefined;
      acquiring = new Promise((resolve) => {
        stopWaiting = slots.wait(path, (granted) => {
          release = granted;
          acquiring = undefined;
          resolve();
        });
      });
      return acquiring;
    },
    /** The next task often starts within the same turn of the event loop, and then keeps the slot. */
    releaseLater: () =>
      slots.releaseLater(() => {
        if (!isNeeded()) releaseNow();
      }),
    close() {
      closed = true;
      stopWaiting();
      releaseNow();
    },
  };
}

/**
 * The slots of runs that work: that use the CPU of this process, or write to the store. A run that waits
 * has no slot. So a slot is held for milliseconds, and a few suffice to use the CPU; more would only make
 * each run take longer.
 */
export interface WorkSlots extends FairSlots {
  /** Calls `release` soon: the releases of one turn of the event loop are one task. */
  releaseLater(release: () => void): void;
}

export const WORK_SLOTS = 64;

export function createWorkSlots(timers: Pick<Timers, "defer">, onFree: () => void): WorkSlots {
  const slots = createFairSlots({ capacity: WORK_SLOTS, onFree });
  let pending: (() => void)[] = [];
  const releasePending = () => {
    const releases = pending;
    pending = [];
    for (const release of releases) release();
  };
  return {
    ...slots,
    get waiting() {
      return slots.waiting;
    },
    releaseLater(release) {
      if (pending.push(release) === 1) timers.defer(releasePending);
    },
  };
}
