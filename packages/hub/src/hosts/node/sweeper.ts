import type { Retention, Store } from "../../store/store.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";

const EVERY_MS = 60_000;
const AT_ONCE = 500;

/** Retention, by itself: a bounded bite at a time, so that webhooks get their turn in between. */
export function startSweeper({
  store,
  retention,
  metrics,
  log,
}: {
  store: Pick<Store, "sweep">;
  retention: Pick<Retention, "processedFor" | "pendingFor" | "maxBytes">;
  metrics: Pick<Metrics, "swept">;
  log: Logger;
}): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const sweep = async () => {
    try {
      for (let more = true; more && !stopped; ) {
        const swept = await store.sweep({ now: Date.now(), ...retention, limit: AT_ONCE });
        for (const why of ["processed", "expired", "overflow"] as const)
          metrics.swept(why, swept[why]);
        if (swept.expired + swept.overflow > 0)
          log.warn(swept, "unprocessed events were removed by retention");
        more = swept.more;
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      log.error({ err: error }, "retention failed; it will be tried again");
    }
    if (!stopped) plan();
  };
  const plan = () => {
    // Replicas that started together need not sweep together.
    timer = setTimeout(sweep, EVERY_MS * (0.5 + Math.random()));
    timer.unref();
  };
  plan();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
