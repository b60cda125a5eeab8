/** Observes webhooks and callbacks: logs and measures their outcomes, and counts rejections. */

import { type IngestOutcome, isRejection, outcomeLabel } from "../../kernel/http/ingest-outcome.ts";
import type { Log } from "../../kernel/lib/log.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import { isStorageUnavailable } from "../../kernel/store/availability.ts";
import type { AppendRequest } from "../model.ts";
import { sources } from "../sources/index.ts";

/** The `source` of callbacks in the log and the metrics. */
export const CALLBACK_SOURCE = "callback";

/** A client can put any text into the URL as the source. */
const KNOWN_SOURCES: ReadonlySet<string> = new Set([
  ...sources.map(({ id }) => id),
  CALLBACK_SOURCE,
]);

/** A webhook or a callback, and its outcome. */
export interface IngestObservation {
  source: string;
  /** The client's address. */
  address: string;
  outcome: IngestOutcome;
  appendRequest?: AppendRequest | undefined;
  /** The duration of the request, in milliseconds. */
  took: number;
  error?: unknown;
}

interface RejectionCount {
  source: string;
  reason: string;
  count: number;
  last_at: number;
  /** The message of the last rejection. */
  detail: string;
}

export interface IngestObserver {
  /** Called once for each webhook and each callback. */
  observe(observation: IngestObservation): void;
  listRejections(): RejectionCount[];
}

export interface IngestObserverOptions {
  log: Log;
  /** Schedules the log lines. */
  defer: (work: () => void) => void;
  now: () => number;
  metrics: Metrics;
}

export function createIngestObserver(options: IngestObserverOptions): IngestObserver {
  const { log, defer, now, metrics } = options;
  const measure = createIngestMetrics(metrics);
  const logRequest = createIngestLog(log, defer);
  const rejections = createRejectionCounts(now);
  return {
    observe(observation) {
      measure(observation);
      rejections.observe(observation);
      logRequest(observation);
    },
    listRejections: rejections.list,
  };
}

function createIngestMetrics(metrics: Metrics) {
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
  return ({ source, outcome: result, took }: IngestObservation): void => {
    const outcome = outcomeLabel(result);
    const reason = isRejection(result) ? result.reason : "";
    webhooks({ source: KNOWN_SOURCES.has(source) ? source : "unknown", outcome, reason });
    duration({ outcome }, took / 1000);
  };
}

/**
 * Requests with the same source and outcome share a line if they end in the same iteration of the event loop:
 * during a burst, or a flood of forged requests, logging must not become the slowest part of the hub.
 */
function createIngestLog(log: Log, defer: (work: () => void) => void) {
  let groups = new Map<string, IngestObservation[]>();

  const flush = () => {
    const flushed = groups;
    groups = new Map();
    for (const group of flushed.values()) write(log, group);
  };

  return (observation: IngestObservation): void => {
    if (groups.size === 0) defer(flush);
    const { outcome } = observation;
    const kind = outcome.outcome === "rejected" ? outcome.reason : outcome.outcome;
    const key = `${observation.source} ${kind}`;
    const group = groups.get(key);
    if (group) group.push(observation);
    else groups.set(key, [observation]);
  };
}

function write(log: Log, group: IngestObservation[]): void {
  const [first] = group as [IngestObservation, ...IngestObservation[]];
  const { outcome, error } = first;
  const fields = {
    source: first.source.slice(0, 50),
    ms: Math.round(first.took * 10) / 10,
    ...(group.length > 1 ? { count: group.length, events: idsOf(group) } : detailsOf(first)),
  };
  if (outcome.outcome !== "rejected") {
    log.info(fields, outcome.outcome);
    return;
  }
  const rejected = { ...fields, reason: outcome.reason, address: first.address };
  // `createOutageLog` logs an outage of the storage once, instead of once per request.
  if (error && !isStorageUnavailable(error)) log.error({ ...rejected, err: error }, "refused");
  else log.warn(rejected, "refused");
}

function idsOf(group: IngestObservation[]): string[] | undefined {
  const ids = group.flatMap(({ outcome }) => ("id" in outcome ? [outcome.id] : []));
  return ids.length > 0 ? ids : undefined;
}

function detailsOf({ source, outcome, appendRequest }: IngestObservation): Record<string, unknown> {
  const event = appendRequest?.events[0];
  if (!event || !("id" in outcome)) return {};
  const { type, action, repo } = event;
  const details = { tenant: appendRequest.tenant, event: outcome.id, type, action, repo };
  return source === CALLBACK_SOURCE ? { ...details, connection: event.source } : details;
}

/** Counts rejections by source and reason. Unknown sources are counted together, as an empty source. */
function createRejectionCounts(now: () => number) {
  const counts = new Map<string, RejectionCount>();
  return {
    observe({ source: requested, outcome }: IngestObservation): void {
      if (outcome.outcome !== "rejected") return;
      const source = KNOWN_SOURCES.has(requested) ? requested : "";
      const { reason, detail } = outcome;
      const key = `${source} ${reason}`;
      const count = (counts.get(key)?.count ?? 0) + 1;
      counts.set(key, { source, reason, count, last_at: now(), detail });
    },
    list: (): RejectionCount[] => [...counts.values()].sort((a, b) => b.last_at - a.last_at),
  };
}
