import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createIngestObserver } from "../../events/admit/observe-ingest.ts";
import { createDeliveryMetrics } from "../../events/mcp-events/metrics.ts";
import { createEventMetrics } from "../../events/metrics.ts";
import { addRunGauges, createMatchingMetrics, createRunMetrics } from "../../flows/metrics.ts";
import type { WorkerLoad } from "../../flows/runs/run-metrics.ts";
import { createOperationsPart } from "../../operations/part.ts";
import { createCommitMetrics } from "../../pipeline.ts";
import { createRedeliveryMetrics } from "../../redelivery/metrics.ts";
import { createMetrics } from "./metrics.ts";

const load = (origins: WorkerLoad["origins"] = []): WorkerLoad => ({
  slots: { busy: 3, total: 64, waiting: 2 },
  runs: 5,
  memory: { used: 1_000, budget: 9_000 },
  origins,
});

/** The metrics of all parts, with gauges that the test can change. */
function create() {
  const metrics = createMetrics();
  const values = {
    pending: 0,
    isDown: false,
    queues: [{ tenant: "acme", app: "a", flow_id: "f", queued: 7, since: 8_500 }],
    load: load(),
    evaluations: new Map<string, number>(),
  };
  const read = async <Value>(value: Value): Promise<Value> => {
    if (values.isDown) throw new Error("no database");
    return value;
  };
  const store = {
    countPending: () => read(values.pending),
    countMatching: () => read(5),
    measureQueues: () => read(values.queues),
    measureSize: () => read({ disk: 34, used: 20, free: 10, wal: 4 }),
    countRedeliveries: () => read({ open: 2, given_up: 1, delivered: 4 }),
    getRedeliverySweep: () => read({ completed_at: 9_000, error: "GitHub is down" }),
  } as never;
  const countSwept = createEventMetrics(metrics, { store, countStreams: () => 2 });
  const log = { info() {}, warn() {}, error() {} };
  const { observe } = createIngestObserver({ metrics, log, defer: () => {}, now: () => 0 });
  createCommitMetrics(metrics);
  const countDelivery = createDeliveryMetrics(metrics);
  const countTrip = createMatchingMetrics(metrics, {
    store,
    queuedJobs: () => values.evaluations,
  });
  const runs = createRunMetrics(metrics);
  addRunGauges(metrics, { store, now: () => 10_000, readLoad: () => values.load });
  const countRedeliveries = createRedeliveryMetrics(metrics, store);
  const ports = { metrics, timers: {} };
  createOperationsPart(
    { store, ports, settings: {} } as never,
    { tokens: {} } as never,
    () => ({}) as never,
  );
  return {
    text: metrics.text,
    values,
    observe,
    countSwept,
    countDelivery,
    countTrip,
    runs,
    countRedeliveries,
  };
}

const docs = readFileSync(new URL("../../../../../docs/operating.md", import.meta.url), "utf8");
const namesIn = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();

it("has the metrics that docs/operating.md lists", async () => {
  const registered = namesIn(await create().text(), /^# HELP (signalbox_\w+)/gm);
  expect(namesIn(docs, /^\| `(signalbox_\w+)/gm)).toEqual(registered);
});

it("lists the labels of each metric in docs/operating.md", async () => {
  const { text: readText, values, observe, ...metrics } = create();
  const { countSwept, countDelivery, countTrip, runs, countRedeliveries } = metrics;
  const outcome = { outcome: "rejected", reason: "busy", detail: "" } as const;
  observe({ source: "github", address: "", outcome, took: 1 });
  countSwept("processed", 1);
  countDelivery("delivered");
  countTrip("chain");
  countRedeliveries("requested", 1);
  values.load = load([{ origin: "https://api.example", open: 2, waiting: 1 }]);
  runs.observeRun("failed", 1);
  runs.observeStep("HttpRequest", "failed", 1);
  const text = await readText();
  expect(text).toContain('signalbox_github_redeliveries{state="open"} 2\n');
  expect(text).toContain("signalbox_github_sweep_completed_seconds 9\n");
  expect(text).toContain("signalbox_github_sweep_failed 1\n");
  for (const [part, bytes] of [
    ["used", 20],
    ["free", 10],
    ["wal", 4],
  ])
    expect(text).toContain(`signalbox_database_bytes{part="${part}"} ${bytes}\n`);
  const documented = [...docs.matchAll(/^\| `(signalbox_\w+)(?:\{([\w,]+)\})?`/gm)];
  for (const [, name, labels = ""] of documented) {
    const sample = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, "m").exec(text);
    expect(sample, name).not.toBeNull();
    const actualLabels = [...(sample?.[1] ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label);
    expect(actualLabels.join(","), name).toBe(labels);
  }
});

it("starts the counts of runs at 0, and measures no duration of runs that never started", async () => {
  const { text, runs } = create();
  for (const outcome of ["succeeded", "failed", "cancelled"])
    expect(await text()).toContain(`signalbox_runs_total{outcome="${outcome}"} 0\n`);
  runs.observeRun("cancelled", null);
  expect(await text()).toContain('signalbox_runs_total{outcome="cancelled"} 1\n');
  expect(await text()).not.toContain("signalbox_run_seconds_count{");
});

it("counts webhooks by known sources, and runs and steps by outcome, in seconds", async () => {
  const { text, observe, runs } = create();
  const outcome = {
    outcome: "duplicate" as const,
    id: "e",
    events: [],
    emptyResponse: false,
  };
  for (const source of ["github", "github", "callback", "a/made-up/path"])
    observe({ source, address: "", outcome, took: 2 });
  runs.observeRun("succeeded", 20);
  runs.observeRun("succeeded", 2_000);
  runs.observeRun("cancelled", 1);
  runs.observeStep("HttpRequest", "done", 150);
  runs.observeStep("a type of a removed version", "failed", 1);
  const lines = (await text()).split("\n");
  for (const line of [
    'signalbox_webhooks_total{source="github",outcome="duplicate",reason=""} 2',
    'signalbox_webhooks_total{source="callback",outcome="duplicate",reason=""} 1',
    'signalbox_webhooks_total{source="unknown",outcome="duplicate",reason=""} 1',
    'signalbox_webhook_seconds_sum{outcome="duplicate"} 0.008',
    'signalbox_runs_total{outcome="succeeded"} 2',
    'signalbox_runs_total{outcome="cancelled"} 1',
    'signalbox_run_seconds_sum{outcome="succeeded"} 2.02',
    'signalbox_step_seconds_sum{type="HttpRequest",outcome="done"} 0.15',
    'signalbox_step_seconds_count{type="unknown",outcome="failed"} 1',
  ])
    expect(lines).toContain(line);
});

it("reads the gauges for each response, and responds even if the database does not", async () => {
  const { text: readText, values } = create();
  values.pending = 3;
  expect(await readText()).toMatch(/^signalbox_pending_events 3$/m);
  expect(await readText()).toMatch(/^signalbox_matching_events 5$/m);
  expect(await readText()).toMatch(/^signalbox_connected_streams 2$/m);
  values.pending = 4;
  expect(await readText()).toMatch(/^signalbox_pending_events 4$/m);
  values.isDown = true;
  const text = await readText();
  expect(text).toMatch(/^signalbox_pending_events nan$/im);
  expect(text).not.toContain("signalbox_database_bytes{");
  expect(text).toMatch(/^signalbox_connected_streams 2$/m);
});

it("shows what runs wait for, with a bounded number of origins", async () => {
  const { text, values } = create();
  values.load = load(
    Array.from({ length: 12 }, (_, index) => ({
      origin: `https://api-${index}.example`,
      open: index,
      waiting: 1,
    })),
  );
  expect(await text()).toContain('signalbox_queued_evaluations{language="jsonata-filters"} 0\n');
  values.evaluations.set("jsonata-filters", 4);
  const lines = (await text()).split("\n");
  for (const line of [
    'signalbox_queued_runs{tenant="acme"} 7',
    'signalbox_oldest_queued_run_seconds{tenant="acme"} 1.5',
    "signalbox_busy_slots 3",
    "signalbox_slots 64",
    "signalbox_runs_waiting_for_slot 2",
    "signalbox_runs_in_memory 5",
    "signalbox_run_memory_bytes 1000",
    "signalbox_run_memory_budget_bytes 9000",
    'signalbox_origin_requests{origin="https://api-11.example",state="open"} 11',
    'signalbox_origin_requests{origin="other",state="open"} 1',
    'signalbox_origin_requests{origin="other",state="waiting"} 2',
    'signalbox_queued_evaluations{language="jsonata-filters"} 4',
  ])
    expect(lines).toContain(line);
  expect(lines.filter((line) => line.startsWith("signalbox_origin_requests{"))).toHaveLength(22);
  values.queues = [];
  expect(await text()).not.toContain("signalbox_queued_runs{");
});
