import type { Retention, Store } from "../../store/store.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";

const AT_ONCE = 500;

export interface SweeperOptions {
  store: Pick<Store, "sweep" | "sweepRuns" | "sweepFlows">;
  retention: Pick<Retention, "processedFor" | "pendingFor" | "maxBytes">;
  /** How long runs stay that have ended, and flows that were deleted. */
  runsFor: number;
  metrics: Pick<Metrics, "swept">;
  log: Pick<Logger, "warn" | "error">;
  everyMs?: number | undefined;
  now?: () => number;
  random?: () => number;
}

/** Retention, by itself: a bounded bite at a time, so that webhooks get their turn in between. */
export function startSweeper({
  store,
  retention,
  runsFor,
  metrics,
  log,
  everyMs = 60_000,
  now = Date.now,
  random = Math.random,
}: SweeperOptions): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const sweep = async () => {
    const total = { processed: 0, expired: 0, overflow: 0 };
    try {
      for (let more = true; more && !stopped; ) {
        const swept = await store.sweep({ now: now(), ...retention, limit: AT_ONCE });
        for (const why of ["processed", "expired", "overflow"] as const) {
          metrics.swept(why, swept[why]);
          total[why] += swept[why];
        }
        more = swept.more;
        await new Promise((resolve) => setImmediate(resolve));
      }
      // A flow goes after the last run of it.
      for (const sweepSome of [store.sweepRuns, store.sweepFlows])
        while (!stopped && (await sweepSome(now() - runsFor, AT_ONCE)) > 0)
          await new Promise((resolve) => setImmediate(resolve));
    } catch (error) {
      log.error({ err: error }, "retention failed; it will be tried again");
    }
    if (total.expired > 0)
      log.warn({ events: total.expired }, "events that nobody processed were too old, and removed");
    if (total.overflow > 0)
      log.warn(
        { events: total.overflow, maxBytes: retention.maxBytes },
        "a tenant kept more than it may: its oldest events were removed, processed ones first",
      );
    if (!stopped) plan();
  };
  const plan = () => {
    // Replicas that started together need not sweep together.
    timer = setTimeout(sweep, everyMs * (0.5 + random()));
    timer.unref();
  };
  plan();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
