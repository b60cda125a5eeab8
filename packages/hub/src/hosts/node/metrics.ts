import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { HubMetrics } from "../../host-ports.ts";

/** The Prometheus metrics. Labels contain only known sources, never names from a request. */
export function createMetrics(knownSources: ReadonlySet<string>): HubMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const webhooks = new Counter({
    name: "signalbox_webhooks_total",
    help: "Requests to webhook endpoints by outcome; rejections with their reason.",
    labelNames: ["source", "outcome", "reason"],
    registers: [registry],
  });
  const duration = new Histogram({
    name: "signalbox_webhook_seconds",
    help: "Time from a request's headers to its outcome; for stored events it includes the fsync.",
    labelNames: ["outcome"],
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const batches = new Histogram({
    name: "signalbox_commit_arrivals",
    help: "Requests that shared one transaction.",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [registry],
  });
  const swept = new Counter({
    name: "signalbox_swept_events_total",
    help: "Events removed by retention, by reason.",
    labelNames: ["why"],
    registers: [registry],
  });
  const deliveries = new Counter({
    name: "signalbox_deliveries_total",
    help: "Webhooks to subscribers, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  const trips = new Counter({
    name: "signalbox_breaker_trips_total",
    help: "Runs that the loop breaker did not start, by limit.",
    labelNames: ["limit"],
    registers: [registry],
  });
  new Gauge({
    name: "signalbox_up_since_seconds",
    help: "Start time of this process, in seconds since 1970.",
    registers: [registry],
  }).set(Math.floor(Date.now() / 1000 - process.uptime()));

  // Finding a child by its labels costs more than counting, so children are cached.
  const children = new Map<
    string,
    { count: Counter.Internal; time: Histogram.Internal<"outcome"> }
  >();
  return {
    observe({ source, outcome, took }) {
      const known = knownSources.has(source) ? source : "unknown";
      const reason = outcome.outcome === "refused" ? outcome.reason : "";
      const key = `${known} ${outcome.outcome} ${reason}`;
      let child = children.get(key);
      if (!child) {
        child = {
          count: webhooks.labels({ source: known, outcome: outcome.outcome, reason }),
          time: duration.labels({ outcome: outcome.outcome }),
        };
        children.set(key, child);
      }
      child.count.inc();
      child.time.observe(took / 1000);
    },
    batch: (size) => batches.observe(size),
    swept: (why, count) => swept.inc({ why }, count),
    delivery: (outcome) => deliveries.inc({ outcome }),
    trip: (limit) => trips.inc({ limit }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
