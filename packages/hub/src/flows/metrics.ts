import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Trip } from "@signalbox/rules/match/breaker.ts";
import { type Metrics, single } from "../kernel/metrics.ts";
import type { Store } from "../store.ts";
import {
  largestOrigins,
  measureByTenant,
  type QueuedByTenant,
  type RunMetrics,
  type WorkerLoad,
} from "./runs/run-metrics.ts";

const MAX_COUNTED_MATCHING = 10_000;

export interface MatchingGauges {
  store: Pick<Store, "countMatching">;
  /** The jobs that wait for a worker, by name. Undefined if they do not wait. */
  queuedJobs?: (() => ReadonlyMap<string, number>) | undefined;
}

/** Returns a function that counts the runs that a circuit breaker has prevented. */
export function createMatchingMetrics(
  metrics: Metrics,
  { store, queuedJobs }: MatchingGauges,
): (limit: Trip["limit"]) => void {
  metrics.gauge({
    name: "signalbox_matching_events",
    help: "Events whose filters are not evaluated yet, at most 10,000; every replica reports the same number.",
    read: async () => single(await store.countMatching(MAX_COUNTED_MATCHING)),
  });
  metrics.gauge({
    name: "signalbox_queued_evaluations",
    help: "Evaluations that wait for a sandbox worker, by language; the filters of triggers are jsonata-filters.",
    labels: ["language"],
    read: () =>
      [...new Map([["jsonata-filters", 0], ...(queuedJobs?.() ?? [])])].map(
        ([language, queued]) => [{ language }, queued],
      ),
  });
  const trips = metrics.counter({
    name: "signalbox_breaker_trips_total",
    help: "Runs that the breaker did not start, by the limit that they exceeded.",
    labels: ["limit"],
  });
  return (limit) => trips({ limit });
}

export interface RunGauges {
  store: Pick<Store, "measureQueues">;
  now: () => number;
  readLoad(): WorkerLoad;
}

export function createRunMetrics(metrics: Metrics): RunMetrics {
  const runs = metrics.counter({
    name: "signalbox_runs_total",
    help: "Runs that this process ended, by outcome.",
    labels: ["outcome"],
    initial: ["succeeded", "failed", "cancelled"].map((outcome) => ({ outcome })),
  });
  const runSeconds = metrics.histogram({
    name: "signalbox_run_seconds",
    help: "Time from the first start of a run to its end, including the time it was suspended.",
    labels: ["outcome"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600],
  });
  const stepSeconds = metrics.histogram({
    name: "signalbox_step_seconds",
    help: "Duration of an attempt at a step, by the type of its node and its outcome.",
    labels: ["type", "outcome"],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  });
  return {
    observeRun(outcome, took) {
      runs({ outcome });
      if (took !== null) runSeconds({ outcome }, took / 1000);
    },
    observeStep(type, outcome, took) {
      stepSeconds({ type: nodeTypes.has(type) ? type : "unknown", outcome }, took / 1000);
    },
  };
}

export function addRunGauges(metrics: Metrics, { store, now, readLoad }: RunGauges): void {
  const readQueues = shareWhileRunning(() => measureByTenant(store, now()));
  const queueGauge = (name: string, help: string, value: (queue: QueuedByTenant) => number) =>
    metrics.gauge({
      name,
      help,
      labels: ["tenant"],
      read: async () =>
        (await readQueues()).map((queue) => [{ tenant: queue.tenant }, value(queue)]),
    });
  queueGauge(
    "signalbox_queued_runs",
    "Queued runs by tenant, at most 1000 of a flow: of the 20 tenants whose runs have waited longest; the others as tenant other. Every replica reports the same number.",
    ({ queued }) => queued,
  );
  queueGauge(
    "signalbox_oldest_queued_run_seconds",
    "How long the oldest queued run has been waiting, for the same tenants.",
    ({ oldestMs }) => oldestMs / 1000,
  );
  const loadGauge = (name: string, help: string, value: (load: WorkerLoad) => number) =>
    metrics.gauge({ name, help, read: () => single(value(readLoad())) });
  loadGauge(
    "signalbox_busy_slots",
    "Slots of runs that work in this process.",
    ({ slots }) => slots.busy,
  );
  loadGauge("signalbox_slots", "All slots of this process.", ({ slots }) => slots.total);
  loadGauge(
    "signalbox_runs_waiting_for_slot",
    "Runs in the memory of this process that wait for a slot.",
    ({ slots }) => slots.waiting,
  );
  loadGauge(
    "signalbox_runs_in_memory",
    "Runs that this process executes: those that work, and those that wait.",
    ({ runs }) => runs,
  );
  loadGauge(
    "signalbox_run_memory_bytes",
    "Memory that the runs of this process count.",
    ({ memory }) => memory.used,
  );
  loadGauge(
    "signalbox_run_memory_budget_bytes",
    "The memory up to which this process claims runs.",
    ({ memory }) => memory.budget,
  );
  metrics.gauge({
    name: "signalbox_origin_requests",
    help: "Requests of runs of this process by origin, open or waiting for a share of the requests that are allowed at the origin: the 10 origins with most requests; the others as origin other.",
    labels: ["origin", "state"],
    read: () =>
      largestOrigins(readLoad().origins).flatMap(({ origin, open, waiting }) => [
        [{ origin, state: "open" }, open] as const,
        [{ origin, state: "waiting" }, waiting] as const,
      ]),
  });
}

/** The gauges of a response share one result. */
function shareWhileRunning<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= read().finally(() => {
      running = undefined;
    });
    return running;
  };
}
