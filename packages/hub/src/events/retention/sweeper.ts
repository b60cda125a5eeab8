/**
 * The sweeper applies retention about once a minute: it removes old events and runs, deleted flows,
 * expired sessions and OAuth grants, people without tokens, and the data of deleted tenants. Then it returns
 * free pages to the file system. It works in paced steps, so that it does not delay webhooks.
 */
import type { Log } from "../../kernel/lib/log.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import { isStorageUnavailable } from "../../kernel/store/availability.ts";
import { createPacedSteps } from "../../kernel/store/paced-steps.ts";
import type { Store } from "../../store.ts";
import type { Retention, TenantSweep } from "./model.ts";
import { expiredSpans, type RetentionClock } from "./retention-clock.ts";

/** The maximum number of deletions of tenants that one sweep continues. */
const MAX_DELETIONS = 500;
const DAY_MS = 24 * 3_600_000;
/**
 * How long a person without valid tokens is kept after GitHub last confirmed the memberships:
 * as long as a session lasts.
 */
const KEEP_PEOPLE_MS = 30 * DAY_MS;
const REASONS = ["processed", "expired", "overflow"] as const;

export type SweepReason = (typeof REASONS)[number];

export interface SweeperOptions {
  store: Pick<
    Store,
    | "sweep"
    | "sweepTenants"
    | "listDeletions"
    | "continueDeletion"
    | "sweepRuns"
    | "sweepFlows"
    | "sweepSessions"
    | "sweepOAuth"
    | "sweepPeople"
    | "observeClock"
  > &
    Partial<Pick<Store, "file">>;
  retention: Pick<Retention, "processedFor" | "pendingFor" | "maxBytes">;
  /** How long ended runs and deleted flows are kept, in milliseconds. */
  keepRunsMs: number;
  onSwept: (reason: SweepReason, count: number) => void;
  log: Pick<Log, "warn" | "error">;
  timers: Timers;
  everyMs?: number | undefined;
  random?: () => number;
}

/** Returns a function that stops the sweeper. */
export function startSweeper({
  store,
  retention,
  keepRunsMs,
  onSwept,
  log,
  timers,
  everyMs = 60_000,
  random = Math.random,
}: SweeperOptions): () => void {
  let lastRead: { clock: RetentionClock; monotonic: number } | undefined;
  let warnedOffset: number | undefined;
  let stopped = false;
  let cancel = () => {};
  const steps = createPacedSteps({ timers, isStopped: () => stopped });

  const readClock = async (): Promise<RetentionClock> => {
    const monotonic = timers.monotonic();
    const expected = lastRead && {
      now: Math.floor(lastRead.clock.now + monotonic - lastRead.monotonic),
      steps: lastRead.clock.steps,
    };
    const clock = await store.observeClock({
      wall: timers.now(),
      expected,
      maxGapMs: timers.maxClockGapMs,
    });
    lastRead = { clock, monotonic };
    if (clock.pending && clock.pending.offset !== warnedOffset)
      log.warn(
        { days: Math.round(-clock.pending.offset / DAY_MS) },
        `the clock is ${clock.pending.offset < 0 ? "ahead of" : "behind"} the time that the hubs on this database have observed. Retention counts only the observed time. Correct the clock if it is wrong; it is believed after 24 hours, or with \`npx signalbox doctor --accept-clock\``,
      );
    warnedOffset = clock.pending?.offset;
    return clock;
  };
  const onError = (error: unknown) => {
    if (!stopped && !isStorageUnavailable(error))
      log.error({ err: error }, "retention failed; it will be tried again");
  };

  const sweep = async () => {
    const total = { processed: 0, expired: 0, overflow: 0, runs: 0 };
    try {
      const clock = await readClock();
      store.file?.keepWalShort(true);
      await steps.repeat(async (limit) => {
        const swept = await store.sweep({ ...clock, ...retention, limit });
        for (const reason of REASONS) {
          onSwept(reason, swept[reason]);
          total[reason] += swept[reason];
        }
        total.runs += swept.runs;
        return swept.hasMore;
      });
      let after = "";
      await steps.repeat(async (limit) => {
        const { next, ...swept }: TenantSweep = await store.sweepTenants(after, clock, limit);
        onSwept("processed", swept.processed);
        onSwept("expired", swept.expired);
        total.expired += swept.expired;
        after = next ?? "";
        return next !== null;
      });
      // Runs first: a flow is removed only after its last run.
      for (const sweepBatch of [store.sweepRuns, store.sweepFlows])
        for (const { from, to } of expiredSpans(clock, keepRunsMs))
          await steps.repeat(async (limit) => (await sweepBatch(to, limit, from)) > 0);
      // These rows have absolute times: the earlier of both clocks keeps them longer.
      const now = Math.min(clock.now, timers.now());
      for (const sweepBatch of [store.sweepSessions, store.sweepOAuth])
        await steps.repeat(async (limit) => (await sweepBatch(now, limit)) > 0);
      await steps.repeat(
        async (limit) => (await store.sweepPeople(now - KEEP_PEOPLE_MS, limit)) > 0,
      );
      // A crash can have interrupted a deletion.
      for (const tenant of await store.listDeletions(MAX_DELETIONS))
        await steps.repeat(async (limit) => !(await store.continueDeletion(tenant, limit)));
      await steps.repeat(async (pages) => (await store.file?.compact(pages)) ?? false);
      if (!stopped) await store.file?.truncateWal();
    } catch (error) {
      onError(error);
    } finally {
      // After the stop, the store may be closed.
      if (!stopped) store.file?.keepWalShort(false);
    }
    if (total.expired > 0)
      log.warn(
        { events: total.expired },
        "pending events exceeded their retention and were removed",
      );
    if (total.overflow + total.runs > 0)
      log.warn(
        { events: total.overflow, runs: total.runs, maxBytes: retention.maxBytes },
        "a tenant exceeded its storage limit: its oldest events and ended runs were removed, pending events last",
      );
    if (!stopped) schedule();
  };
  // With jitter, so that replicas that started together do not sweep at the same time.
  const schedule = () => {
    cancel = timers.after(everyMs * (0.5 + random()), () => void sweep());
  };

  // Before the first events: their times belong to the range of stamps that begins now.
  readClock().catch(onError);
  schedule();
  return () => {
    stopped = true;
    cancel();
    steps.cancel();
  };
}
