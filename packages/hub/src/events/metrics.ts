import { type Metrics, single } from "../kernel/metrics.ts";
import type { Store } from "../store.ts";
import type { SweepReason } from "./retention/sweeper.ts";

interface EventGauges {
  store: Pick<Store, "countPending">;
  countStreams(): number;
}

/** Returns a function that counts the events that retention has deleted. */
export function createEventMetrics(
  metrics: Metrics,
  { store, countStreams }: EventGauges,
): (reason: SweepReason, count: number) => void {
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
  return (why, count) => swept({ why }, count);
}
