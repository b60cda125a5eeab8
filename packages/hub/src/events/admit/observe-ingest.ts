/** Observes webhooks and callbacks: logs their outcomes, and counts rejections. */
import type { IngestOutcome } from "../../kernel/http/ingest-outcome.ts";
import type { Log } from "../../kernel/lib/log.ts";
import { isStorageUnavailable } from "../../kernel/store/storage-unavailable.ts";
import type { AppendRequest } from "../model.ts";
import { sources } from "../sources/index.ts";

/** The `source` of callbacks in the log and the metrics. */
export const CALLBACK_SOURCE = "callback";

/** A client can put any text into the URL as the source. */
export const KNOWN_SOURCES: ReadonlySet<string> = new Set([
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
  /** Counts each observation in the metrics. */
  count: (observation: IngestObservation) => void;
}

export function createIngestObserver(options: IngestObserverOptions): IngestObserver {
  const { log, defer, now, count } = options;
  const logRequest = createIngestLog(log, defer);
  const rejections = createRejectionCounts(now);
  return {
    observe(observation) {
      count(observation);
      rejections.observe(observation);
      logRequest(observation);
    },
    listRejections: rejections.list,
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
