/**
 * Claims due runs while there are free slots: when the store reports due runs, when a slot becomes
 * free, and when the next run is due. It also polls every 30 s, in case a notice was lost.
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
  /** Claims the runs that are due now. */
  claimDue(): void;
  /** Schedules a claim at the time `due` or earlier. */
  claimAt(due: number): void;
  /** Stops claiming; resolves when no claim is in progress. */
  close(): Promise<void>;
}

const POLL_MS = 30_000;
const RETRY_AFTER_ERROR_MS = 1_000;

export function createClaimer(options: ClaimerOptions): Claimer {
  const { store, worker, leaseMs, timers, slots, execute, onError } = options;
  let closed = false;
  let requested = false;
  let claiming: Promise<void> | undefined;
  let cancelTimer = () => {};
  let alarmAt = Number.POSITIVE_INFINITY;

  const claimDue = (): void => {
    if (closed) return;
    slots.admitWaiting();
    requested = true;
    claiming ??= claimAll().finally(() => {
      claiming = undefined;
      if (requested && !closed && slots.free() > 0) claimDue();
    });
  };
  const cancelAlarm = (): void => {
    cancelTimer();
    alarmAt = Number.POSITIVE_INFINITY;
  };
  const setAlarm = (due: number): void => {
    cancelAlarm();
    if (closed) return;
    alarmAt = due;
    const ms = Math.min(POLL_MS, Math.max(1, due - timers.now()));
    cancelTimer = timers.after(ms, claimDue);
  };
  const claimAll = async (): Promise<void> => {
    cancelAlarm();
    try {
      while (requested && !closed && slots.free() > 0) {
        // Deferred, so that one claim fills the slots of all runs that end together.
        await new Promise<void>((resolve) => timers.defer(resolve));
        requested = false;
        const now = timers.now();
        const limit = slots.free();
        const runs = await store.claimRuns({ worker, now, until: now + leaseMs }, limit);
        if (closed) return; // `close` of the runner releases the claimed runs
        if (runs.length === limit) requested = true;
        for (const run of runs) begin(run);
      }
      // Without a free slot no alarm is needed: the next run that ends calls `claimDue`.
      if (slots.free() > 0) {
        const nextDue = (await store.nextDue()) ?? Number.POSITIVE_INFINITY;
        setAlarm(Math.min(nextDue, alarmAt)); // `claimAt` may have set an earlier alarm meanwhile
      }
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
