import type { Metrics } from "../../kernel/metrics.ts";
import type { DeliveryOutcome } from "./delivery.ts";

/** Returns a function that counts webhooks to subscribers. */
export function createDeliveryMetrics(metrics: Metrics): (outcome: DeliveryOutcome) => void {
  const deliveries = metrics.counter({
    name: "signalbox_deliveries_total",
    help: "Webhooks to subscribers, by outcome.",
    labels: ["outcome"],
  });
  return (outcome) => deliveries({ outcome });
}
