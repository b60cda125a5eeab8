import { type Metrics, single } from "../kernel/metrics.ts";
import type { Store } from "../store.ts";
import type { RedeliveryOutcome } from "./schedule.ts";

/** Counting stops at this number, so that the query stays cheap. */
const MAX_COUNTED = 10_000;

/** Returns a function that counts the webhooks that GitHub failed to deliver, by the outcome of their redelivery. */
export function createRedeliveryMetrics(
  metrics: Metrics,
  store: Pick<Store, "countRedeliveries" | "getRedeliverySweep">,
): (outcome: RedeliveryOutcome, count: number) => void {
  metrics.gauge({
    name: "signalbox_github_redeliveries",
    help: "Webhooks of the last days that GitHub failed to deliver, by state: open or given_up; every replica reports the same number.",
    labels: ["state"],
    async read() {
      const counts = await store.countRedeliveries(MAX_COUNTED);
      return (["open", "given_up"] as const).map((state) => [{ state }, counts[state]]);
    },
  });
  metrics.gauge({
    name: "signalbox_github_sweep_completed_seconds",
    help: "When the hub last checked for webhooks that GitHub failed to deliver, as Unix time; 0 if never.",
    read: async () => single(((await store.getRedeliverySweep())?.completed_at ?? 0) / 1000),
  });
  metrics.gauge({
    name: "signalbox_github_sweep_failed",
    help: "1 if the last check for webhooks that GitHub failed to deliver has failed, else 0.",
    read: async () => single(typeof (await store.getRedeliverySweep())?.error === "string" ? 1 : 0),
  });
  const redeliveries = metrics.counter({
    name: "signalbox_github_redeliveries_total",
    help: "Webhooks that GitHub failed to deliver, by outcome: failed, requested, delivered, given_up.",
    labels: ["outcome"],
  });
  return (outcome, count) => redeliveries({ outcome }, count);
}
