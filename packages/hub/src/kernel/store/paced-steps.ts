/**
 * Repeats a small transaction, so that a long job does not delay webhooks. The number of rows of a step
 * adapts to a time budget. After each step, a pause of several times its duration leaves the database and
 * the event loop to others.
 */
import type { Timers } from "../lib/timers.ts";

export interface PacedStepsOptions {
  timers: Pick<Timers, "monotonic" | "defer" | "after">;
  isStopped(): boolean;
}

/** How long the rows of a step may take, in addition to a transaction without rows (its fsync). */
const ROWS_MS = 2;
/** With a slow disk, the rows may take this share of the fsync: otherwise, hardly any rows would be removed. */
const SHARE_OF_FIXED = 1 / 4;
/** The share of the time in which steps run. */
const BUSY_SHARE = 0.05;
/** A process that was suspended does not continue its pause for long. */
const MAX_PAUSE_MS = 2_000;
const FIRST_ROWS = 5;
const MAX_ROWS = 500;

/** Does work on at most `rows` rows; returns whether more work is left. */
type Step = (rows: number) => Promise<boolean>;

export interface PacedSteps {
  /** Repeats the step until no work is left, or until the job is stopped. */
  repeat(step: Step): Promise<void>;
  /** Cancels the current pause; its `repeat` never resolves. */
  cancel(): void;
}

export function createPacedSteps({ timers, isStopped }: PacedStepsOptions): PacedSteps {
  let cancel = () => {};
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (ms < 1) timers.defer(resolve);
      else cancel = timers.after(ms, resolve);
    });
  return {
    async repeat(step) {
      let rows = FIRST_ROWS;
      // What a transaction costs without rows: on SQLite mostly the fsync, on PostgreSQL the round trips.
      let fixedMs = Number.POSITIVE_INFINITY;
      for (let hasMore = true; hasMore && !isStopped(); ) {
        const startedAt = timers.monotonic();
        hasMore = await step(rows);
        const took = timers.monotonic() - startedAt;
        fixedMs = Math.min(fixedMs, took);
        rows = nextRows(rows, took - fixedMs, Math.max(ROWS_MS, fixedMs * SHARE_OF_FIXED));
        await pause(Math.min(MAX_PAUSE_MS, took * (1 / BUSY_SHARE - 1)));
      }
    },
    cancel: () => cancel(),
  };
}

/** At most doubles, so that one fast step does not make the next one slow. */
const nextRows = (rows: number, took: number, budgetMs: number): number =>
  took > budgetMs
    ? Math.max(1, Math.floor((rows * budgetMs) / took))
    : Math.min(MAX_ROWS, Math.ceil(rows * Math.min(2, budgetMs / took)));
