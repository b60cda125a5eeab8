import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { WorkerLoad } from "../../flows/runs/worker-load.ts";
import { createMetrics } from "./metrics.ts";

const create = () => createMetrics({ sources: ["github"], nodeTypes: ["HttpRequest"] });

const load = (origins: WorkerLoad["origins"] = []): WorkerLoad => ({
  slots: { busy: 3, total: 64, waiting: 2 },
  runs: 5,
  memory: { used: 1_000, budget: 9_000 },
  origins,
});

const namesIn = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();

it("has the metrics that docs/operating.md lists", async () => {
  const registered = namesIn(await create().text(), /^# HELP (signalbox_\w+)/gm);
  const docs = readFileSync(new URL("../../../../../docs/operating.md", import.meta.url), "utf8");
  expect(namesIn(docs, /^\| `(signalbox_\w+)/gm)).toEqual(registered);
});

it("lists the labels of each metric in docs/operating.md", async () => {
  const metrics = create();
  const outcome = { outcome: "refused", reason: "busy", detail: "" } as const;
  metrics.observe({ source: "github", address: "", outcome, took: 1 });
  metrics.countSwept("processed", 1);
  metrics.countDelivery("delivered");
  metrics.countTrip("chain");
  metrics.countRedeliveries("requested", 1);
  metrics.setGauges({
    pendingEvents: async () => 0,
    matchingEvents: async () => 0,
    databaseSize: async () => ({ disk: 34, used: 20, free: 10, wal: 4 }),
    connectedStreams: () => 0,
    queues: async () => [{ tenant: "acme", queued: 7, oldestMs: 1_500 }],
    load: () => load([{ origin: "https://api.example", open: 2, waiting: 1 }]),
    redelivery: async () => ({ open: 2, given_up: 1, completedAt: 9_000, lastCheckFailed: true }),
  });
  metrics.observeRun("failed", 1);
  metrics.observeStep("HttpRequest", "failed", 1);
  const text = await metrics.text();
  expect(text).toContain('signalbox_github_redeliveries{state="open"} 2\n');
  expect(text).toContain("signalbox_github_sweep_completed_seconds 9\n");
  expect(text).toContain("signalbox_github_sweep_failed 1\n");
  for (const [part, bytes] of [
    ["used", 20],
    ["free", 10],
    ["wal", 4],
  ])
    expect(text).toContain(`signalbox_database_bytes{part="${part}"} ${bytes}\n`);
  const docs = readFileSync(new URL("../../../../../docs/operating.md", import.meta.url), "utf8");
  const documented = [...docs.matchAll(/^\| `(signalbox_\w+)(?:\{([\w,]+)\})?`/gm)];
  for (const [, name, labels = ""] of documented) {
    const sample = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, "m").exec(text);
    expect(sample, name).not.toBeNull();
    const actualLabels = [...(sample?.[1] ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label);
    expect(actualLabels.join(","), name).toBe(labels);
  }
});

it("starts the counts of runs at 0, and measures no duration of runs that never started", async () => {
  const metrics = create();
  for (const outcome of ["succeeded", "failed", "cancelled"])
    expect(await metrics.text()).toContain(`signalbox_runs_total{outcome="${outcome}"} 0\n`);
  metrics.observeRun("cancelled", null);
  const text = await metrics.text();
  expect(text).toContain('signalbox_runs_total{outcome="cancelled"} 1\n');
  expect(text).not.toContain("signalbox_run_seconds_count{");
});

it("counts runs by outcome, and measures runs and steps in seconds", async () => {
  const metrics = create();
  metrics.observeRun("succeeded", 20);
  metrics.observeRun("succeeded", 2_000);
  metrics.observeRun("cancelled", 1);
  metrics.observeStep("HttpRequest", "done", 150);
  metrics.observeStep("a type of a removed version", "failed", 1);
  const lines = (await metrics.text()).split("\n");
  for (const line of [
    'signalbox_runs_total{outcome="succeeded"} 2',
    'signalbox_runs_total{outcome="cancelled"} 1',
    'signalbox_run_seconds_sum{outcome="succeeded"} 2.02',
    'signalbox_step_seconds_sum{type="HttpRequest",outcome="done"} 0.15',
    'signalbox_step_seconds_count{type="unknown",outcome="failed"} 1',
  ])
    expect(lines).toContain(line);
});

it("reads the gauges for each response, and responds even if the database does not", async () => {
  const metrics = create();
  let pending = 3;
  metrics.setGauges({
    matchingEvents: async () => 5,
    pendingEvents: async () => {
      if (pending < 0) throw new Error("no database");
      return pending;
    },
    async databaseSize() {
      if (pending < 0) throw new Error("no database");
      return { disk: 30, used: 30, free: null, wal: null };
    },
    connectedStreams: () => 2,
    queues: () => Promise.reject(new Error("no database")),
    load: () => load(),
  });
  expect(await metrics.text()).toMatch(/^signalbox_pending_events 3$/m);
  expect(await metrics.text()).toMatch(/^signalbox_matching_events 5$/m);
  expect(await metrics.text()).toMatch(/^signalbox_connected_streams 2$/m);
  pending = 4;
  expect(await metrics.text()).toMatch(/^signalbox_pending_events 4$/m);
  pending = -1;
  const text = await metrics.text();
  expect(text).toMatch(/^signalbox_pending_events nan$/im);
  expect(text).toMatch(/^signalbox_connected_streams 2$/m);
});

it("shows what runs wait for, with a bounded number of origins", async () => {
  const metrics = create();
  const origins = Array.from({ length: 12 }, (_, index) => ({
    origin: `https://api-${index}.example`,
    open: index,
    waiting: 1,
  }));
  let queues = [{ tenant: "acme", queued: 7, oldestMs: 1_500 }];
  metrics.setGauges({
    pendingEvents: async () => 0,
    matchingEvents: async () => 0,
    databaseSize: async () => ({ disk: 0, used: 0, free: null, wal: null }),
    connectedStreams: () => 0,
    queues: async () => queues,
    load: () => load(origins),
    queuedEvaluations: () => new Map([["jsonata-filters", 4]]),
  });
  const lines = (await metrics.text()).split("\n");
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
  queues = [];
  expect(await metrics.text()).not.toContain("signalbox_queued_runs{");
});
