/** Creates the pipeline and its dependencies: group commit, matcher, endpoints, rate limits and log. */
import { tripMessage } from "@signalbox/rules/match/breaker.ts";
import { createEndpoints } from "./events/admit/endpoints.ts";
import { createGithubRanges } from "./events/admit/github-ranges.ts";
import {
  CALLBACK_SOURCE,
  createIngestLog,
  type IngestObservation,
} from "./events/admit/ingest-log.ts";
import { createRejectionCounts } from "./events/admit/rejection-counts.ts";
import { createSendSample } from "./events/admit/send-sample.ts";
import { createCallbackTokens } from "./events/callback/callback-tokens.ts";
import { createSendTestEvent } from "./events/callback/send-test-event.ts";
import { createLargeReads } from "./events/inbox/large-reads.ts";
import { sources } from "./events/sources/index.ts";
import { createDeferredMatching } from "./flows/matching/deferred-matching.ts";
import { createMatcher } from "./flows/matching/matcher.ts";
import type { LookUpInstallation } from "./github/look-up-installation.ts";
import { createGithubTenancy } from "./github/tenancy.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import { createRateLimit } from "./kernel/http/rate-limit.ts";
import { DEFAULT_BODY_LIMITS } from "./kernel/lib/limits.ts";
import type { Seal } from "./kernel/lib/seal.ts";
import { createGroupCommit, type GroupCommit } from "./kernel/store/group-commit.ts";
import { isStorageUnavailable } from "./kernel/store/storage-unavailable.ts";
import type { Store } from "./kernel/store/store.ts";
import { createReadiness } from "./operations/readiness.ts";
import { createPipeline, type PipelineOptions } from "./pipeline.ts";

/**
 * How long the sender of a webhook waits for filters. A filter of a running hub takes a few milliseconds; much
 * more on a busy machine.
 */
const MATCH_WITHIN_MS = 15;

export interface HubPipelineOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
  seal: Seal;
  newId: () => string;
  onError: (error: unknown) => void;
  /** The tenant of all events; undefined if the hub has several tenants. */
  tenant: string | undefined;
  /** Undefined if the hub cannot act as the GitHub App. */
  lookUpInstallation?: LookUpInstallation | undefined;
}

export function createHubPipeline(options: HubPipelineOptions) {
  const { store, ports, settings, seal, newId, tenant, onError } = options;
  const { log, metrics, makeHmacKey, sha256Hex, timers } = ports;
  const { now } = timers;
  const defer = ports.deferCommit ?? timers.defer;

  const readiness = createReadiness({
    check: () => store.checkWritable(now()),
    timers,
    onError(error) {
      if (!isStorageUnavailable(error))
        log.error({ err: error }, "the readiness check failed: the store is not writable");
    },
  });
  const commit = createGroupCommit({
    store: reportToReadiness(store, readiness),
    quota: settings.quota,
    defer,
    onBatch: metrics.observeBatch,
  });
  const countedCommit = countAppends(commit);
  const { maxChain, maxLoops } = settings;
  const matcher = createMatcher({
    store,
    evaluate: ports.evaluate,
    newId,
    now,
    maxChain,
    maxLoops,
  });

  const logRequest = createIngestLog(log, defer);
  const rejections = createRejectionCounts([...sources.map(({ id }) => id), CALLBACK_SOURCE], now);
  const observe = (observation: IngestObservation) => {
    metrics.observe(observation);
    rejections.observe(observation);
    logRequest(observation);
  };
  const onTripped: PipelineOptions["onTripped"] = (tenant, { isFirst, ...trip }) => {
    metrics.countTrip(trip.limit);
    if (isFirst)
      log.warn(
        { tenant, ...trip },
        `a circuit breaker prevented a trigger from firing: ${tripMessage(trip)}`,
      );
  };
  const endpoints = createEndpoints({
    sources,
    store,
    secrets: settings.secrets,
    tenant,
    unseal: seal.unseal,
    makeHmacKey,
    now,
    monotonic: timers.monotonic,
  });
  const callbackTokens = createCallbackTokens({
    store,
    sha256Hex,
    now,
    monotonic: timers.monotonic,
  });
  const newRateLimit = () =>
    createRateLimit({ failuresPerWindow: settings.rateLimit, now: timers.monotonic });
  const matching = createDeferredMatching({
    store,
    matcher,
    largeReads: createLargeReads(),
    timers,
    withinMs: ports.evaluatesInBackground ? MATCH_WITHIN_MS : undefined,
    onTripped,
    onError,
  });
  const pipeline = createPipeline({
    matcher: matching,
    commit: countedCommit,
    onTripped,
    observe,
    endpoints,
    tenancy:
      tenant === undefined
        ? createGithubTenancy({
            store,
            now,
            monotonic: timers.monotonic,
            lookUp: options.lookUpInstallation,
          })
        : undefined,
    isGithubAddress: settings.githubAddressesOnly ? createIsGithubAddress(options) : undefined,
    rateLimit: newRateLimit(),
    callbackTokens,
    tokenRateLimit: newRateLimit(),
    allowUnsigned: settings.allowUnsigned,
    evaluate: ports.evaluate,
    maxValues: (settings.limits ?? DEFAULT_BODY_LIMITS).webhookValues,
    newId,
    now,
  });

  return {
    ...pipeline,
    sendSample: createSendSample({ endpoints, store, receive: pipeline.receive, newId, now }),
    sendTestEvent: createSendTestEvent({ store, append: pipeline.append, newId, now }),
    observe,
    rejections,
    /** The number of appends that wait for the store. */
    pendingAppends: countedCommit.pending,
    checkReady: readiness.check,
    /** Resolves when no append is pending. */
    drain: commit.drain,
    /** Stops matching events after they were stored. */
    close: matching.close,
    /** Unsubscribes from the store's notices, which invalidate cached triggers and tokens. Appends still work. */
    unsubscribe() {
      matcher.close();
      callbackTokens.close();
    },
  };
}

export type HubPipeline = ReturnType<typeof createHubPipeline>;

/**
 * Reports to `readiness` whether each batch was stored. A data error is not reported: it is caused by the
 * values of an event, and the store is still ready for other events.
 */
function reportToReadiness(
  store: Store,
  readiness: ReturnType<typeof createReadiness>,
): Pick<Store, "packLarge" | "appendEvents" | "isDataError"> {
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

function countAppends({ append }: GroupCommit) {
  let pending = 0;
  const counted: typeof append = async (request) => {
    pending += 1;
    try {
      return await append(request);
    } finally {
      pending -= 1;
    }
  };
  return { append: counted, pending: () => pending };
}

function createIsGithubAddress({
  ports,
  settings,
}: HubPipelineOptions): (address: string) => boolean {
  const ranges = createGithubRanges({
    apiUrl: settings.github.apiUrl,
    fetch: ports.fetch,
    now: ports.timers.monotonic,
    onError: (error) =>
      ports.log.warn(
        { err: error },
        "GitHub's address list could not be refreshed; the previous list stays in use",
      ),
  });
  void ranges.refresh();
  return ranges.includes;
}
