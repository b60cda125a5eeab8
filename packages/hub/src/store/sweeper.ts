/**
 * The sweeper applies retention about once a minute: it removes old events and runs, deleted flows,
 * expired sessions and OAuth grants, people without tokens, and the data of deleted tenants. It uses small
 * transactions and yields to the event loop between them, so that it does not delay webhooks.
 */
import type { Log } from "../lib/log.ts";
import type { Timers } from "../lib/timers.ts";
import { expiredSpans, type RetentionClock } from "./retention-clock.ts";
import { isStorageUnavailable } from "./storage-unavailable.ts";
import type { Retention, Store, TenantSweep } from "./store.ts";

/** The maximum number of rows that one transaction removes. */
const BATCH = 500;
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
  >;
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
  const yieldToEventLoop = () => new Promise<void>((resolve) => timers.defer(resolve));
  let stopped = false;
  let cancel = () => {};

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
    const total = { processed: 0, expired: 0, overflow: 0 };
    try {
      const clock = await readClock();
      for (let hasMore = true; hasMore && !stopped; ) {
        const swept = await store.sweep({ ...clock, ...retention, limit: BATCH });
        for (const reason of REASONS) {
          onSwept(reason, swept[reason]);
          total[reason] += swept[reason];
        }
        hasMore = swept.hasMore;
        await yieldToEventLoop();
      }
      for (let after: string | null = ""; after !== null && !stopped; ) {
        const { next, ...swept }: TenantSweep = await store.sweepTenants(after, clock, BATCH);
        onSwept("processed", swept.processed);
        onSwept("expired", swept.expired);
        total.expired += swept.expired;
        after = next;
        await yieldToEventLoop();
      }
      // Runs first: a flow is removed only after its last run.
      for (const sweepBatch of [store.sweepRuns, store.sweepFlows])
        for (const { from, to } of expiredSpans(clock, keepRunsMs))
          while (!stopped && (await sweepBatch(to, BATCH, from)) > 0) await yieldToEventLoop();
      // These rows have absolute times: the earlier of both clocks keeps them longer.
      const now = Math.min(clock.now, timers.now());
      for (const sweepBatch of [store.sweepSessions, store.sweepOAuth])
        while (!stopped && (await sweepBatch(now, BATCH)) > 0) await yieldToEventLoop();
      while (!stopped && (await store.sweepPeople(now - KEEP_PEOPLE_MS, BATCH)) > 0)
        await yieldToEventLoop();
      // A crash can have interrupted a deletion.
      for (const tenant of await store.listDeletions(BATCH))
        while (!stopped && !(await store.continueDeletion(tenant, BATCH))) await yieldToEventLoop();
    } catch (error) {
      onError(error);
    }
    if (total.expired > 0)
      log.warn(
        { events: total.expired },
        "pending events exceeded their retention and were removed",
      );
    if (total.overflow > 0)
      log.warn(
        { events: total.overflow, maxBytes: retention.maxBytes },
        "a tenant exceeded its storage limit: its oldest events were removed, processed ones first",
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
  };
}
