/**
 * Sweeps when the hub starts, and then regularly. Processes share the schedule in the store, so that
 * only one of them sweeps.
 */
import type { Log } from "../kernel/lib/log.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import { isStorageUnavailable } from "../kernel/store/availability.ts";
import type { Store } from "../store.ts";
import { WINDOW_MS } from "./rules.ts";
import { LeaseLost, leaseFor, type SweepOptions, type SweepResult, sweep } from "./sweep.ts";

export type RedeliveryOutcome = keyof SweepResult["counts"];

export interface RedeliveryOptions extends Omit<SweepOptions, "now" | "isStopping" | "store"> {
  store: SweepOptions["store"] &
    Pick<Store, "requestRedeliverySweep" | "leaseRedeliverySweep" | "finishRedeliverySweep">;
  /** The id of this process. */
  by: string;
  everyMs: number;
  timers: Timers;
  log: Pick<Log, "info" | "warn" | "error">;
  onCounted: (outcome: RedeliveryOutcome, count: number) => void;
}

export interface RedeliverySchedule {
  /** Sweeps if a sweep is due and no other process sweeps. */
  wake(): void;
  /** Resolves when no sweep is in progress. */
  close(): Promise<void>;
}

/** If a sweep has left work, the next sweep begins after this time. */
const MORE_WORK_MS = 60_000;
/** The delay after a failed sweep. */
const RETRY_MS = 60_000;
/** How long redeliveries are kept, so that the web UI can show them. */
const KEEP_MS = 2 * WINDOW_MS;

export function scheduleRedelivery(options: RedeliveryOptions): RedeliverySchedule {
  const { store, by, everyMs, timers, log, onCounted } = options;
  let isStopping = false;
  let cancel = () => {};
  let lastError: string | null = null;

  /** Returns the time of the next sweep. */
  const sweepIfDue = async (): Promise<number> => {
    const lease = await store.leaseRedeliverySweep(leaseFor(by, timers.now()));
    if (!lease.leased) return lease.due_at;
    const result = await sweep(by, lease.leased, {
      ...options,
      now: timers.now,
      isStopping: () => isStopping,
    });
    report(result);
    const { hasMore, pausedUntil, isComplete } = result;
    // While the hub stops, it aborts its requests. Their errors are not GitHub's.
    const error = isStopping ? lease.leased.error : result.error;
    const now = timers.now();
    const next_at =
      now + (hasMore && result.error === null ? Math.min(MORE_WORK_MS, everyMs) : everyMs);
    await store.finishRedeliverySweep(by, {
      now,
      next_at,
      paused_until: pausedUntil,
      is_complete: isComplete && result.error === null,
      error,
      remove_before: now - KEEP_MS,
    });
    return Math.max(next_at, pausedUntil);
  };

  const report = ({ counts, error }: SweepResult) => {
    for (const [outcome, count] of Object.entries(counts))
      onCounted(outcome as RedeliveryOutcome, count);
    if (Object.values(counts).some((count) => count > 0))
      log.info(counts, "checked the webhooks that GitHub failed to deliver");
    if (error !== null && error !== lastError && !isStopping)
      log.warn({ reason: error }, "the webhooks that GitHub failed to deliver cannot be checked");
    lastError = error;
  };

  const run = async () => {
    let next = timers.now() + RETRY_MS;
    try {
      next = await sweepIfDue();
    } catch (error) {
      if (!isStorageUnavailable(error) && !(error instanceof LeaseLost))
        log.error({ err: error }, "a sweep of failed webhooks failed; it will be tried again");
    }
    if (!isStopping) schedule(next);
  };
  // The first sweep is due immediately, because webhooks may have failed while the hub was down.
  let running = store.requestRedeliverySweep(timers.now()).then(run, run);
  const wake = () => {
    if (isStopping) return;
    cancel();
    running = running.then(run);
  };
  const schedule = (at: number) => {
    cancel();
    cancel = timers.after(Math.max(1_000, at - timers.now()), wake);
  };

  return {
    wake,
    async close() {
      isStopping = true;
      cancel();
      await running;
    },
  };
}
