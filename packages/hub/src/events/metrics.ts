import { isRejection, outcomeLabel } from "../kernel/http/ingest-outcome.ts";
import { type Metrics, single } from "../kernel/metrics.ts";
import type { Store } from "../store.ts";
import { type IngestObservation, KNOWN_SOURCES } from "./admit/observe-ingest.ts";
import type { SweepReason } from "./retention/sweeper.ts";

export interface EventMetrics {
  observe(observation: IngestObservation): void;
  /** Called after each group commit with its number of requests. */
  observeBatch(size: number): void;
  /** Counts events that retention has deleted. */
  countSwept(reason: SweepReason, count: number): void;
}

export interface EventGauges {
  store: Pick<Store, "countPending">;
  countStreams(): number;
}

export function createEventMetrics(
  metrics: Metrics,
  { store, countStreams }: EventGauges,
): EventMetrics {
  const webhooks = metrics.counter({
    name: "signalbox_webhooks_total",
    help: "Webhooks by source, and callbacks of MCP servers as source callback, by outcome; rejections with their reason.",
    labels: ["source", "outcome", "reason"],
  });
  const duration = metrics.histogram({
    name: "signalbox_webhook_seconds",
    help: "Time from a request's headers to its outcome; for stored events it includes the fsync.",
    labels: ["outcome"],
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const batches = metrics.histogram({
    name: "signalbox_commit_arrivals",
    help: "Requests that shared one transaction.",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  });
  const swept = metrics.counter({
    name: "signalbox_swept_events_total",
    help: "Events removed by retention, by reason.",
    labels: ["why"],
  });
  metrics.gauge({
    name: "signalbox_pending_events",
    help: "Pending events in the database; every replica reports the same number.",
    read: async () => single(await store.countPending()),
  });
  metrics.gauge({
    name: "signalbox_connected_streams",
    help: "Open live streams of this process: clients of GET /events and GET /api/live.",
    read: () => single(countStreams()),
  });
  return {
    observe({ source, outcome: result, took }) {
      const outcome = outcomeLabel(result);
      const reason = isRejection(result) ? result.reason : "";
      webhooks({ source: KNOWN_SOURCES.has(source) ? source : "unknown", outcome, reason });
      duration({ outcome }, took / 1000);
    },
    observeBatch: (size) => batches({}, size),
    countSwept: (why, count) => swept({ why }, count),
  };
}
