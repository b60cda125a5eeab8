/**
 * The sweeper applies retention about once a minute: it removes old events and runs, deleted flows,
 * expired sessions and OAuth grants, people without tokens, and the data of deleted tenants. It uses small
 * transactions and yields to the event loop between them, so that it does not delay webhooks.
 */
import type { Log } from "../lib/log.ts";
import type { Timers } from "../lib/timers.ts";
import { createBelievedTime } from "./believed-time.ts";
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
    | "noteSweep"
    | "lastSweep"
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
  let believedTime: (() => number) | undefined;
  const yieldToEventLoop = () => new Promise<void>((resolve) => timers.defer(resolve));
  let stopped = false;
  let cancel = () => {};

  const sweep = async () => {
    const total = { processed: 0, expired: 0, overflow: 0 };
    try {
      believedTime ??= createBelievedTime({
        timers,
        lastSeen: await store.lastSweep(),
        onJump: (aheadMs) =>
          log.warn(
            { days: Math.round(aheadMs / DAY_MS) },
            "the clock is ahead of the time when this database was last used: retention ignores it for an hour. Correct the clock if it is wrong",
          ),
      });
      const now = believedTime;
      for (let hasMore = true; hasMore && !stopped; ) {
        const swept = await store.sweep({ now: now(), ...retention, limit: BATCH });
        for (const reason of REASONS) {
          onSwept(reason, swept[reason]);
          total[reason] += swept[reason];
        }
        hasMore = swept.hasMore;
        await yieldToEventLoop();
      }
      for (let after: string | null = ""; after !== null && !stopped; ) {
        const { next, ...swept }: TenantSweep = await store.sweepTenants(after, now(), BATCH);
        onSwept("processed", swept.processed);
        onSwept("expired", swept.expired);
        total.expired += swept.expired;
        after = next;
        await yieldToEventLoop();
      }
      // Runs first: a flow is removed only after its last run.
      for (const sweepBatch of [store.sweepRuns, store.sweepFlows])
        while (!stopped && (await sweepBatch(now() - keepRunsMs, BATCH)) > 0)
          await yieldToEventLoop();
      for (const sweepBatch of [store.sweepSessions, store.sweepOAuth])
        while (!stopped && (await sweepBatch(now(), BATCH)) > 0) await yieldToEventLoop();
      while (!stopped && (await store.sweepPeople(now() - KEEP_PEOPLE_MS, BATCH)) > 0)
        await yieldToEventLoop();
      // A crash can have interrupted a deletion.
      for (const tenant of await store.listDeletions(BATCH))
        while (!stopped && !(await store.continueDeletion(tenant, BATCH))) await yieldToEventLoop();
      await store.noteSweep(now());
    } catch (error) {
      if (!isStorageUnavailable(error))
        log.error({ err: error }, "retention failed; it will be tried again");
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

  schedule();
  return () => {
    stopped = true;
    cancel();
  };
}
