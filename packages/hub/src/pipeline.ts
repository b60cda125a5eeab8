/**
 * The path of an event:
 *
 *   webhook  ─▶ receive ─────────▶ admit ─────────┐
 *   callback ─▶ receiveCallback ─▶ admitCallback ─┴─▶ match ─▶ commit ─▶ live streams, runs
 *
 * admit          (events/admit/) checks sender, rate, signature and format; returns events, a rejection, or the
 *                response to a request without events, such as a ping.
 * admitCallback  (events/callback/) checks rate, size, token and format; returns one event, or a rejection.
 * match          (flows/matching/) finds the triggers that fire for the events, and plans their runs. An event
 *                whose filters are not evaluated in time is matched after the commit (deferred-matching.ts).
 * commit         (kernel/store/) writes events and runs in one transaction, shared by concurrent requests.
 *
 * After the commit, the store notifies the live streams and the runner; this module does not call
 * them. When `receive` or `receiveCallback` returns "stored", the event and the runs that it starts
 * are on disk, or the event is on disk with the note that it is not matched yet.
 */

import { type AcceptedRequest, createIngest, type IngestOptions } from "./events/admit/ingest.ts";
import { CALLBACK_SOURCE, type IngestObservation } from "./events/admit/observe-ingest.ts";
import type { CallbackRequest, IncomingRequest } from "./events/admit/receive-request.ts";
import {
  type AdmitCallbackOptions,
  createAdmitCallback,
} from "./events/callback/admit-callback.ts";
import type { AppendRequest, AppendResult, StalePlan } from "./events/model.ts";
import type { EventsPart } from "./events/part.ts";
import type { DeferrablePlan } from "./flows/matching/deferred-matching.ts";
import type { PlannedRequest, PlannedResult, TrippedTrigger } from "./flows/matching/model.ts";
import type { MatchingPart } from "./flows/matching/part.ts";
import {
  type IngestOutcome,
  overQuota,
  rejection,
  tenantDeleted,
} from "./kernel/http/ingest-outcome.ts";
import type { MaybePromise } from "./kernel/lib/maybe-promise.ts";
import { RequestError } from "./kernel/lib/request-error.ts";
import type { Metrics } from "./kernel/metrics.ts";
import {
  createReadiness,
  isStorageUnavailable,
  StoreFailed,
  wrapStoreErrors,
} from "./kernel/store/availability.ts";
import { createGroupCommit, type GroupCommit } from "./kernel/store/group-commit.ts";
import type { Kernel, Part } from "./part.ts";

export interface AppendOptions {
  matcher: {
    plan(request: AppendRequest): MaybePromise<DeferrablePlan>;
    invalidate(tenant: string): void;
  };
  commit: Pick<GroupCommit<PlannedRequest, PlannedResult | StalePlan>, "append">;
  /** Called when a circuit breaker has prevented a trigger from firing for an event. */
  onTripped?: (tenant: string, tripped: TrippedTrigger) => void;
}

export interface PipelineOptions extends IngestOptions, AdmitCallbackOptions, AppendOptions {
  /** Called once for each webhook and each callback. */
  observe?: (observation: IngestObservation) => void;
}

export type Append = (request: AppendRequest) => Promise<AppendResult>;

export interface PipelinePart extends Part, Pipeline {
  /** The number of appends that wait for the store. */
  pendingAppends(): number;
  /** Rejects if the database cannot be written. */
  checkReady(): Promise<void>;
}

export interface Pipeline {
  /** Admits, matches and commits the events of a request to a webhook endpoint. */
  receive(request: IncomingRequest): Promise<IngestOutcome>;
  /** Admits, matches and commits the event that an MCP server sends in a callback. */
  receiveCallback(request: CallbackRequest): Promise<IngestOutcome>;
  /** Matches and commits other events: emitted by flows, polled from MCP servers, or test events. */
  append: Append;
}

export function createPipelinePart(
  { store, ports, settings }: Kernel,
  { admission }: Pick<EventsPart, "admission">,
  { matching, onTripped }: Pick<MatchingPart, "matching" | "onTripped">,
): PipelinePart {
  const { timers, log } = ports;
  const readiness = createReadiness({
    check: () => store.checkWritable(timers.now()),
    timers,
    onError(error) {
      if (!isStorageUnavailable(error))
        log.error({ err: error }, "the readiness check failed: the store is not writable");
    },
  });
  const { append, drain } = createGroupCommit({
    store: reportToReadiness(store, readiness),
    quota: settings.quota,
    defer: ports.deferCommit ?? timers.defer,
    onBatch: createCommitMetrics(ports.metrics),
  });
  let pending = 0;
  const commit: AppendOptions["commit"] = {
    async append(request) {
      pending += 1;
      try {
        return await append(request);
      } finally {
        pending -= 1;
      }
    },
  };
  return {
    ...createPipeline({ ...admission, matcher: matching, commit, onTripped }),
    pendingAppends: () => pending,
    checkReady: readiness.check,
    close: drain,
  };
}

/** Returns a function that counts the requests of a group commit. */
export function createCommitMetrics(metrics: Metrics): (size: number) => void {
  const batches = metrics.histogram({
    name: "signalbox_commit_arrivals",
    help: "Requests that shared one transaction.",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  });
  return (size) => batches({}, size);
}

/**
 * Reports to `readiness` whether each batch was stored. A data error is not reported: it is caused by the
 * values of an event, and the store is still ready for other events.
 */
function reportToReadiness(
  store: Kernel["store"],
  readiness: ReturnType<typeof createReadiness>,
): Pick<Kernel["store"], "packLarge" | "appendEvents" | "isDataError"> {
  return {
    packLarge: store.packLarge,
    isDataError: store.isDataError,
    async appendEvents(batch, quota) {
      try {
        const appended = await store.appendEvents(batch, quota);
        readiness.batchStored();
        return appended;
      } catch (error) {
        if (!store.isDataError(error)) readiness.batchFailed(error);
        throw error;
      }
    },
  };
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { observe = () => {} } = options;
  const admit = createIngest(options);
  const admitCallback = createAdmitCallback(options);
  const append = createAppend(options);

  const receiveWith = async <Request extends Pick<IncomingRequest, "address">>(
    admitRequest: (request: Request) => Promise<AcceptedRequest | IngestOutcome>,
    source: string,
    request: Request,
  ): Promise<IngestOutcome> => {
    const start = performance.now();
    const { address } = request;
    const finish = (outcome: IngestOutcome, appendRequest?: AppendRequest, error?: unknown) => {
      observe({
        source,
        address,
        outcome,
        appendRequest,
        took: performance.now() - start,
        error,
      });
      return outcome;
    };
    try {
      const admitted = await admitRequest(request);
      if (admitted.outcome !== "accepted") return finish(admitted);
      const { appendRequest } = admitted;
      return finish(toOutcome(await append(appendRequest), admitted), appendRequest);
    } catch (error) {
      if (error instanceof RequestError && error.code === "busy") return finish(BUSY);
      return error instanceof StoreFailed
        ? finish(STORAGE_UNAVAILABLE, undefined, error.cause)
        : finish(INTERNAL_ERROR, undefined, error);
    }
  };

  return {
    append,
    receive: (request) => receiveWith(admit, request.source, request),
    receiveCallback: (request) => receiveWith(admitCallback, CALLBACK_SOURCE, request),
  };
}

/**
 * Matches events, then commits them with the planned runs. If triggers change between these two
 * steps, the store rejects the plan, and the events are matched again.
 */
export const createAppend =
  ({ matcher, commit, onTripped = () => {} }: AppendOptions): Append =>
  async (request) => {
    for (;;) {
      // `plan` returns a promise only if it must look up or compare triggers. If no trigger listens, the
      // event is committed without the delay of an `await`.
      const planned = matcher.plan(request);
      const plan = planned instanceof Promise ? await planned : planned;
      const appending = wrapStoreErrors(commit.append({ ...request, plan }));
      plan.onAppended?.(appending);
      const appended = await appending;
      if (appended.outcome === "stale") {
        matcher.invalidate(request.tenant);
        continue;
      }
      if (appended.outcome === "stored" && appended.tripped)
        for (const tripped of appended.tripped) onTripped(request.tenant, tripped);
      return appended;
    }
  };

function toOutcome(
  appended: AppendResult,
  { emptyResponse, callback }: AcceptedRequest,
): IngestOutcome {
  if (appended.outcome === "over_quota") return overQuota(appended);
  if (appended.outcome === "deleted") return tenantDeleted;
  const events = appended.events.map(({ id, duplicate }) => ({
    id,
    outcome: duplicate ? ("duplicate" as const) : ("stored" as const),
  }));
  return { outcome: appended.outcome, id: events[0]?.id ?? "", events, emptyResponse, callback };
}

const BUSY = rejection(
  "busy",
  "The hub is reading too many large bodies, and does not accept the event. Send it again later.",
  { retryAfter: 10 },
);

const STORAGE_UNAVAILABLE = rejection(
  "storage_unavailable",
  "The event could not be stored, and is not accepted. Send it again later.",
  { retryAfter: 5 },
);

/** For errors that do not come from the store: a bug, a crashed worker, or a stored secret that cannot be decrypted. */
const INTERNAL_ERROR = rejection(
  "internal",
  "An internal error occurred, and the event is not accepted. The hub's log has the details; send the event again later.",
  { retryAfter: 60 },
);
