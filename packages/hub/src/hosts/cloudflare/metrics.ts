/**
 * The metrics of one object in Prometheus' text format, with the same names as on the Node host. They
 * start at 0 when the object starts. Instead of a histogram there are only its sum and its count.
 */

import { largestOrigins } from "../../flows/runs/worker-load.ts";
import type { HubGauges, HubMetrics } from "../../host-ports.ts";
import { partsOf } from "../../kernel/store/database-file.ts";

export function createMetrics(): HubMetrics {
  const values = new Map<string, number>();
  let gauges: HubGauges | undefined;
  const add = (name: string, labels: Record<string, string>, amount = 1) => {
    const list = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const key = list.length > 0 ? `${name}{${list.join(",")}}` : name;
    values.set(key, (values.get(key) ?? 0) + amount);
  };
  const observe = (name: string, labels: Record<string, string>, amount: number) => {
    add(`${name}_sum`, labels, amount);
    add(`${name}_count`, labels);
  };
  return {
    observe({ source, outcome: result, took }) {
      const { outcome } = result;
      const reason = result.outcome === "refused" ? result.reason : "";
      add("signalbox_webhooks_total", { source, outcome, reason });
      observe("signalbox_webhook_seconds", { outcome }, took / 1000);
    },
    observeBatch: (size) => observe("signalbox_commit_arrivals", {}, size),
    countSwept: (why, count) => add("signalbox_swept_events_total", { why }, count),
    countDelivery: (outcome) => add("signalbox_deliveries_total", { outcome }),
    countTrip: (limit) => add("signalbox_breaker_trips_total", { limit }),
    countRedeliveries: (outcome, count) =>
      add("signalbox_github_redeliveries_total", { outcome }, count),
    observeRun(outcome, took) {
      add("signalbox_runs_total", { outcome });
      if (took !== null) observe("signalbox_run_seconds", { outcome }, took / 1000);
    },
    observeStep: (type, outcome, took) =>
      observe("signalbox_step_seconds", { type, outcome }, took / 1000),
    setGauges(hubGauges) {
      gauges = hubGauges;
    },
    async text() {
      const pending = (await gauges?.pendingEvents().catch(() => undefined)) ?? Number.NaN;
      const matching = (await gauges?.matchingEvents().catch(() => undefined)) ?? Number.NaN;
      const lines = [
        ...values,
        ["signalbox_pending_events", pending],
        ["signalbox_matching_events", matching],
        ...(await databaseGauges(gauges)),
        ["signalbox_connected_streams", gauges?.connectedStreams() ?? 0],
        ...(await runGauges(gauges)),
        ...(await redeliveryGauges(gauges)),
      ];
      return lines.map(([key, value]) => `${key} ${value}\n`).join("");
    },
    contentType: "text/plain; version=0.0.4; charset=utf-8",
  };
}

async function runGauges(gauges: HubGauges | undefined): Promise<[string, number][]> {
  if (!gauges) return [];
  const queues = await gauges.queues().catch(() => []);
  const { slots, runs, memory, origins } = gauges.load();
  return [
    ...queues.flatMap(({ tenant, queued, oldestMs }): [string, number][] => [
      [`signalbox_queued_runs{tenant="${tenant}"}`, queued],
      [`signalbox_oldest_queued_run_seconds{tenant="${tenant}"}`, oldestMs / 1000],
    ]),
    ["signalbox_busy_slots", slots.busy],
    ["signalbox_slots", slots.total],
    ["signalbox_runs_waiting_for_slot", slots.waiting],
    ["signalbox_runs_in_memory", runs],
    ["signalbox_run_memory_bytes", memory.used],
    ["signalbox_run_memory_budget_bytes", memory.budget],
    ...largestOrigins(origins).flatMap(({ origin, open, waiting }): [string, number][] => [
      [`signalbox_origin_requests{origin="${origin}",state="open"}`, open],
      [`signalbox_origin_requests{origin="${origin}",state="waiting"}`, waiting],
    ]),
  ];
}

async function databaseGauges(gauges: HubGauges | undefined): Promise<[string, number][]> {
  const size = await gauges?.databaseSize().catch(() => undefined);
  return (size ? partsOf(size) : []).map(([part, bytes]) => [
    `signalbox_database_bytes{part="${part}"}`,
    bytes,
  ]);
}

async function redeliveryGauges(gauges: HubGauges | undefined): Promise<[string, number][]> {
  const redelivery = await gauges?.redelivery?.().catch(() => undefined);
  if (!redelivery) return [];
  return [
    ['signalbox_github_redeliveries{state="open"}', redelivery.open],
    ['signalbox_github_redeliveries{state="given_up"}', redelivery.given_up],
    ["signalbox_github_sweep_completed_seconds", redelivery.completedAt / 1000],
    ["signalbox_github_sweep_failed", redelivery.lastCheckFailed ? 1 : 0],
  ];
}
