/**
 * Claims runs that are due while there are free slots. It does not poll: it claims when the store
 * reports due runs, when a slot becomes free, and when the next run is due.
 */
import type { Timers } from "../lib/timers.ts";
import type { ClaimedRun } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import type { Slots } from "./slots.ts";

export interface ClaimerOptions {
  store: Pick<Store, "claimRuns" | "nextDue">;
  worker: string;
  leaseMs: number;
  timers: Timers;
  slots: Pick<Slots, "free" | "occupy" | "admitWaiting">;
  /** Resolves when this process no longer executes the run. */
  execute(run: ClaimedRun): Promise<void>;
  onError(error: unknown): void;
}

export interface Claimer {
  /** Claims what is due now. */
  claimDue(): void;
  /** Claims then at the latest. */
  claimAt(due: number): void;
  /** Resolves when no claim is in progress; nothing is claimed afterwards. */
  close(): Promise<void>;
}

/** Bounds the delay after a lost notice. */
const MAX_SLEEP_MS = 30_000;
const RETRY_AFTER_ERROR_MS = 1_000;

export function createClaimer(options: ClaimerOptions): Claimer {
  const { store, worker, leaseMs, timers, slots, execute, onError } = options;
  let closed = false;
  let wanted = false;
  let claiming: Promise<void> | undefined;
  let cancelAlarm = () => {};
  let alarmAt = Number.POSITIVE_INFINITY;

  const claimDue = (): void => {
    if (closed) return;
    slots.admitWaiting();
    wanted = true;
    claiming ??= claimAll().finally(() => {
      claiming = undefined;
      if (wanted && !closed && slots.free() > 0) claimDue();
    });
  };
  const setAlarm = (due: number): void => {
    cancelAlarm();
    if (closed) return;
    alarmAt = due;
    const ms = Math.min(MAX_SLEEP_MS, Math.max(1, due - timers.now()));
    cancelAlarm = timers.after(ms, claimDue);
  };
  const claimAll = async (): Promise<void> => {
    cancelAlarm();
    try {
      while (wanted && !closed && slots.free() > 0) {
        // Runs that end together free their slots together: one claim fills all of them.
        await new Promise<void>((resolve) => timers.defer(resolve));
        wanted = false;
        const now = timers.now();
        const limit = slots.free();
        const runs = await store.claimRuns({ worker, now, until: now + leaseMs }, limit);
        if (closed) return; // the runner releases them when it closes
        if (runs.length === limit) wanted = true;
        for (const run of runs) begin(run);
      }
      // Without a free slot, the end of the next run claims again.
      if (slots.free() > 0) setAlarm((await store.nextDue()) ?? Number.POSITIVE_INFINITY);
    } catch (error) {
      onError(error);
      setAlarm(timers.now() + RETRY_AFTER_ERROR_MS);
    }
  };
  const begin = (run: ClaimedRun): void => {
    const release = slots.occupy(run.run.id);
    void execute(run).finally(() => {
      release();
      claimDue();
    });
  };

  return {
    claimDue,
    claimAt(due) {
      if (due <= timers.now()) claimDue();
      else if (due < alarmAt) setAlarm(due);
    },
    async close() {
      closed = true;
      cancelAlarm();
      await claiming;
    },
  };
}
