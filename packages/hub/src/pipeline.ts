/**
 * The way of an event, on one screen.
 *
 *   bytes ─▶ ingest ─▶ match ─▶ store ─▶ stream, runs
 *
 * `receive` answers "stored" only when the event, and the work that it causes, are on disk.
 */

import { fromStore, StoreFailed } from "./ingest/from-store.ts";
import type { IncomingRequest } from "./ingest/incoming-request.ts";
import { createIngest, type IngestOptions } from "./ingest/ingest.ts";
import { type IngestOutcome, rejection } from "./ingest/ingest-outcome.ts";
import type { AppendRequest, AppendResult } from "./store/store.ts";

export interface PipelineOptions extends IngestOptions {
  /** Matches an arrival and stores it with the runs that it starts; resolves when all is durable. */
  append: (arrived: AppendRequest) => Promise<AppendResult>;
  /** One line for each arrival, however it ended; `took` in milliseconds. */
  observe?: (seen: Observation) => void;
}

export interface Observation {
  source: string;
  /** The client's. */
  address: string;
  outcome: IngestOutcome;
  arrived?: AppendRequest | undefined;
  took: number;
  error?: unknown;
}

export interface Pipeline {
  receive(arrival: IncomingRequest): Promise<IngestOutcome>;
}

const QUOTA_RETRY_S = 60;

const outage = rejection(
  "storage_unavailable",
  "The event could not be stored, and is not accepted. Send it again later.",
  { retryAfter: 5 },
);

/** A bug, or a stored secret that does not open: the sender can do nothing but try again later. */
const ourFault = rejection(
  "internal",
  "Something went wrong here, and the event is not accepted. The hub's log says what; send it again later.",
  { retryAfter: 60 },
);

export function createPipeline(options: PipelineOptions): Pipeline {
  const { append, observe = () => {} } = options;
  const ingest = createIngest(options);

  return {
    async receive(arrival) {
      const start = performance.now();
      const seen = (
        outcome: IngestOutcome,
        arrived?: AppendRequest,
        error?: unknown,
      ): IngestOutcome => {
        const { source, address } = arrival;
        observe({ source, address, outcome, arrived, took: performance.now() - start, error });
        return outcome;
      };
      try {
        const accepted = await ingest(arrival);
        if (accepted.outcome !== "accepted") return seen(accepted);
        const { appendRequest, bare } = accepted;
        return seen(toOutcome(await fromStore(append(appendRequest)), bare), appendRequest);
      } catch (error) {
        return error instanceof StoreFailed
          ? seen(outage, undefined, error.cause)
          : seen(ourFault, undefined, error);
      }
    },
  };
}

function toOutcome(appended: AppendResult, bare: boolean): IngestOutcome {
  if (appended.outcome === "over_quota")
    return rejection(
      "quota_exceeded",
      `${appended.pending} events are waiting to be processed, and the quota is ${appended.quota}. Process some, or raise the quota.`,
      { retryAfter: QUOTA_RETRY_S },
    );
  const events = appended.events.map(({ id, duplicate }) => ({
    id,
    outcome: duplicate ? ("duplicate" as const) : ("stored" as const),
  }));
  return { outcome: appended.outcome, id: events[0]?.id ?? "", events, bare };
}
