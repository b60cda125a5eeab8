import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { largestOrigins, type WorkerLoad } from "../../flows/runs/worker-load.ts";
import type { HubGauges, HubMetrics } from "../../host-ports.ts";
import { partsOf } from "../../kernel/store/database-file.ts";

export interface MetricsOptions {
  sources: readonly string[];
  nodeTypes: readonly string[];
}

/** Both gauges of a response use one result. While the database does not respond, they are left out. */
function shareWhileRunning<Result>(read: () => Promise<Result[]>): () => Promise<Result[]> {
  let running: Promise<Result[]> | undefined;
  return () => {
    running ??= read()
      .catch(() => [])
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}

/**
 * The Prometheus metrics. Labels contain only known names, never names from a request or a flow. The
 * exceptions are the labels `tenant` and `origin`, which have a bounded number of values at each time.
 */
export function createMetrics({ sources, nodeTypes }: MetricsOptions): HubMetrics {
  const knownSources = new Set(sources);
  const knownTypes = new Set(nodeTypes);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const webhooks = new Counter({
    name: "signalbox_webhooks_total",
    help: "Webhooks by source, and callbacks of MCP servers as source callback, by outcome; rejections with their reason.",
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
    help: "Runs that the breaker did not start, by the limit that they exceeded.",
    labelNames: ["limit"],
    registers: [registry],
  });
  const redeliveries = new Counter({
    name: "signalbox_github_redeliveries_total",
    help: "Webhooks that GitHub failed to deliver, by outcome: failed, requested, delivered, given_up.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  const runs = new Counter({
    name: "signalbox_runs_total",
    help: "Runs that this process ended, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  for (const outcome of ["succeeded", "failed", "cancelled"]) runs.inc({ outcome }, 0);
  const runSeconds = new Histogram({
    name: "signalbox_run_seconds",
    help: "Time from the first start of a run to its end, including the time it was suspended.",
    labelNames: ["outcome"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600],
    registers: [registry],
  });
  const stepSeconds = new Histogram({
    name: "signalbox_step_seconds",
    help: "Duration of an attempt at a step, by the type of its node and its outcome.",
    labelNames: ["type", "outcome"],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [registry],
  });
  let gauges: HubGauges | undefined;
  const readQueues = shareWhileRunning(async () => (await gauges?.queues()) ?? []);
  new Gauge({
    name: "signalbox_pending_events",
    help: "Pending events in the database; every replica reports the same number.",
    registers: [registry],
    async collect() {
      // While the database does not respond, the other metrics are still needed.
      this.set((await gauges?.pendingEvents().catch(() => undefined)) ?? Number.NaN);
    },
  });
  new Gauge({
    name: "signalbox_database_bytes",
    help: "Size of the database by part: used, free (only SQLite) and wal (only SQLite); every replica reports the same number.",
    labelNames: ["part"],
    registers: [registry],
    async collect() {
      this.reset();
      const size = await gauges?.databaseSize().catch(() => undefined);
      for (const [part, bytes] of size ? partsOf(size) : []) this.set({ part }, bytes);
    },
  });
  new Gauge({
    name: "signalbox_matching_events",
    help: "Events whose filters are not evaluated yet, at most 10,000; every replica reports the same number.",
    registers: [registry],
    async collect() {
      this.set((await gauges?.matchingEvents().catch(() => undefined)) ?? Number.NaN);
    },
  });
  new Gauge({
    name: "signalbox_connected_streams",
    help: "Open live streams of this process: clients of GET /events and GET /api/live.",
    registers: [registry],
    collect() {
      this.set(gauges?.connectedStreams() ?? 0);
    },
  });

  new Gauge({
    name: "signalbox_queued_runs",
    help: "Queued runs by tenant, at most 1000 of a flow: of the 20 tenants whose runs have waited longest; the others as tenant other. Every replica reports the same number.",
    labelNames: ["tenant"],
    registers: [registry],
    async collect() {
      const queues = await readQueues();
      this.reset();
      for (const { tenant, queued } of queues) this.set({ tenant }, queued);
    },
  });
  new Gauge({
    name: "signalbox_oldest_queued_run_seconds",
    help: "How long the oldest queued run has been waiting, for the same tenants.",
    labelNames: ["tenant"],
    registers: [registry],
    async collect() {
      const queues = await readQueues();
      this.reset();
      for (const { tenant, oldestMs } of queues) this.set({ tenant }, oldestMs / 1000);
    },
  });
  const loadGauge = (name: string, help: string, read: (load: WorkerLoad) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const load = gauges?.load();
        this.set(load ? read(load) : 0);
      },
    });
  loadGauge(
    "signalbox_busy_slots",
    "Slots of runs that work in this process.",
    (load) => load.slots.busy,
  );
  loadGauge("signalbox_slots", "All slots of this process.", (load) => load.slots.total);
  loadGauge(
    "signalbox_runs_waiting_for_slot",
    "Runs in the memory of this process that wait for a slot.",
    (load) => load.slots.waiting,
  );
  loadGauge(
    "signalbox_runs_in_memory",
    "Runs that this process executes: those that work, and those that wait.",
    (load) => load.runs,
  );
  loadGauge(
    "signalbox_run_memory_bytes",
    "Memory that the runs of this process count.",
    (load) => load.memory.used,
  );
  loadGauge(
    "signalbox_run_memory_budget_bytes",
    "The memory up to which this process claims runs.",
    (load) => load.memory.budget,
  );
  new Gauge({
    name: "signalbox_origin_requests",
    help: "Requests of runs of this process by origin, open or waiting for a share of the requests that are allowed at the origin: the 10 origins with most requests; the others as origin other.",
    labelNames: ["origin", "state"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { origin, open, waiting } of largestOrigins(gauges?.load().origins ?? [])) {
        this.set({ origin, state: "open" }, open);
        this.set({ origin, state: "waiting" }, waiting);
      }
    },
  });
  new Gauge({
    name: "signalbox_queued_evaluations",
    help: "Evaluations that wait for a sandbox worker, by language; the filters of triggers are jsonata-filters.",
    labelNames: ["language"],
    registers: [registry],
    collect() {
      this.reset();
      this.set({ language: "jsonata-filters" }, 0);
      for (const [language, queued] of gauges?.queuedEvaluations?.() ?? [])
        this.set({ language }, queued);
    },
  });

  const redelivery = async () => gauges?.redelivery?.().catch(() => undefined);
  new Gauge({
    name: "signalbox_github_redeliveries",
    help: "Webhooks of the last days that GitHub failed to deliver, by state: open or given_up; every replica reports the same number.",
    labelNames: ["state"],
    registers: [registry],
    async collect() {
      const counts = await redelivery();
      if (counts)
        for (const state of ["open", "given_up"] as const) this.set({ state }, counts[state]);
    },
  });
  new Gauge({
    name: "signalbox_github_sweep_completed_seconds",
    help: "When the hub last checked for webhooks that GitHub failed to deliver, as Unix time; 0 if never.",
    registers: [registry],
    async collect() {
      this.set(((await redelivery())?.completedAt ?? 0) / 1000);
    },
  });
  new Gauge({
    name: "signalbox_github_sweep_failed",
    help: "1 if the last check for webhooks that GitHub failed to deliver has failed, else 0.",
    registers: [registry],
    async collect() {
      this.set((await redelivery())?.lastCheckFailed ? 1 : 0);
    },
  });

  // prom-client takes longer to find a child metric by its labels than to count, so children are cached.
  const children = new Map<
    string,
    { count: Counter.Internal; time: Histogram.Internal<"outcome"> }
  >();
  const stepChildren = new Map<string, Histogram.Internal<"type" | "outcome">>();
  return {
    observe({ source, outcome, took }) {
      const label = knownSources.has(source) ? source : "unknown";
      const reason = outcome.outcome === "refused" ? outcome.reason : "";
      const key = `${label} ${outcome.outcome} ${reason}`;
      let child = children.get(key);
      if (!child) {
        child = {
          count: webhooks.labels({ source: label, outcome: outcome.outcome, reason }),
          time: duration.labels({ outcome: outcome.outcome }),
        };
        children.set(key, child);
      }
      child.count.inc();
      child.time.observe(took / 1000);
    },
    observeBatch: (size) => batches.observe(size),
    countSwept: (why, count) => swept.inc({ why }, count),
    countDelivery: (outcome) => deliveries.inc({ outcome }),
    countTrip: (limit) => trips.inc({ limit }),
    countRedeliveries: (outcome, count) => redeliveries.inc({ outcome }, count),
    observeRun(outcome, took) {
      runs.inc({ outcome });
      if (took !== null) runSeconds.observe({ outcome }, took / 1000);
    },
    observeStep(type, outcome, took) {
      const label = knownTypes.has(type) ? type : "unknown";
      const key = `${label} ${outcome}`;
      let child = stepChildren.get(key);
      if (!child) {
        child = stepSeconds.labels({ type: label, outcome });
        stepChildren.set(key, child);
      }
      child.observe(took / 1000);
    },
    setGauges(hubGauges) {
      gauges = hubGauges;
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
