/** Events: their admission, the inbox, live streams, and retention. */
import type { Rejection } from "../kernel/http/ingest-outcome.ts";
import { createRateLimit } from "../kernel/http/rate-limit.ts";
import { DEFAULT_BODY_LIMITS } from "../kernel/lib/limits.ts";
import { once } from "../kernel/lib/once.ts";
import type { Kernel, Part } from "../part.ts";
import type { TokensPart } from "../tokens/part.ts";
import { createEndpoints } from "./admit/endpoints.ts";
import { createGithubRanges } from "./admit/github-ranges.ts";
import type { IngestOptions } from "./admit/ingest.ts";
import { createIngestObserver, type IngestObserver } from "./admit/observe-ingest.ts";
import type { AdmitCallbackOptions } from "./callback/admit-callback.ts";
import { createCallbackTokenCache } from "./callback/callback-token-cache.ts";
import { sourceKindRoutes } from "./endpoints/source-kind-routes.ts";
import { sourceRoutes } from "./endpoints/source-routes.ts";
import { type TestEventRoutes, testEventRoutes } from "./endpoints/test-event-routes.ts";
import { eventRoutes, type ReplayEvent } from "./inbox/event-routes.ts";
import { createInbox, type Inbox } from "./inbox/inbox.ts";
import { addInboxRoutes } from "./inbox/inbox-routes.ts";
import { createWaits, type Waits } from "./inbox/wait-for-event.ts";
import { createFeed, type Feed } from "./live/feed.ts";
import {
  createLiveStreams,
  type LiveStreams,
  type LiveStreamsOptions,
} from "./live/live-streams.ts";
import { createEventMetrics } from "./metrics.ts";
import { startSweeper } from "./retention/sweeper.ts";
import { sources } from "./sources/index.ts";

export interface EventsPart extends Part {
  inbox: Inbox;
  waits: Waits;
  feed: Feed;
  live: LiveStreams;
  admission: Admission;
  /** Logs and counts a request that was rejected before its source was read from the path. */
  onRejected(rejection: Rejection, address: string): void;
}

export interface EventsPartOptions {
  tenancy: IngestOptions["tenancy"];
  /** The pipeline, and the runs of flows, are created later. */
  receive: TestEventRoutes["receive"];
  append: TestEventRoutes["append"];
  replay: ReplayEvent;
  followRun: LiveStreamsOptions["followRun"];
}

export function createEventsPart(
  kernel: Kernel,
  tokens: TokensPart,
  { tenancy, receive, append, replay, followRun }: EventsPartOptions,
): EventsPart {
  const { store, ports, settings, seal, newId, onError } = kernel;
  const { timers, log } = ports;
  const { now } = timers;
  const { authorizer, streamSlots } = tokens;
  const inbox = createInbox({ store, now, runJob: ports.runJob });
  const feed = createFeed(store, onError);
  const waits = createWaits({ inbox, feed, authorizer });
  const live = createLiveStreams({
    authorizeRequest: tokens.authorizeRequest,
    recheck: authorizer.recheck,
    streamSlots,
    store,
    feed,
    followRun,
    timers,
    onError,
  });
  const countSwept = createEventMetrics(ports.metrics, {
    store,
    countStreams: live.countConnected,
  });
  const admission = createAdmission(kernel, tenancy);
  let stopSweeper = () => {};
  const closeWaits = once(waits.close);
  return {
    inbox,
    waits,
    feed,
    live,
    admission,
    onRejected: (outcome, address) => admission.observe({ source: "", address, outcome, took: 0 }),
    routes: [
      ...eventRoutes(inbox, replay),
      ...sourceRoutes({
        store,
        seal,
        newId,
        now,
        publicUrl: settings.publicUrl,
      }),
      ...testEventRoutes({
        endpoints: admission.endpoints,
        store,
        receive,
        append,
        newId,
        now,
      }),
      ...sourceKindRoutes({
        store,
        listRejections: admission.listRejections,
        tokens: tokens.tokens,
        settings,
      }),
    ],
    mount: (app) => addInboxRoutes(app, { authorizeRequest: tokens.authorizeRequest, inbox }),
    async loadMcp() {
      const { inboxOffer } = await import("./inbox/inbox-offer.ts");
      return { ...inboxOffer({ inbox, waits }), close: closeWaits };
    },
    start() {
      stopSweeper = startSweeper({
        store,
        retention: settings.retention,
        keepRunsMs: settings.keepRunsMs,
        everyMs: settings.sweepEveryMs,
        onSwept: countSwept,
        log,
        timers,
      });
    },
    async stop() {
      admission.close();
      stopSweeper();
      live.close();
      await closeWaits();
    },
    close: async () => feed.close(),
  };
}

/** What checks the requests with webhooks and callbacks, and reports their outcomes. */
interface Admission extends IngestOptions, AdmitCallbackOptions, IngestObserver {
  /** Unsubscribes from the notices that invalidate cached tokens. */
  close(): void;
}

function createAdmission(kernel: Kernel, tenancy: IngestOptions["tenancy"]): Admission {
  const { store, ports, settings, seal, newId, tenant } = kernel;
  const { log, timers, runJob } = ports;
  const { now, monotonic } = timers;
  const observer = createIngestObserver({
    log,
    defer: ports.deferCommit ?? timers.defer,
    now,
    metrics: ports.metrics,
  });
  const callbackTokens = createCallbackTokenCache({
    store,
    sha256Hex: ports.sha256Hex,
    now,
    monotonic,
  });
  const newRateLimit = () =>
    createRateLimit({ failuresPerWindow: settings.rateLimit, now: monotonic });
  return {
    endpoints: createEndpoints({
      sources,
      store,
      secrets: settings.secrets,
      tenant,
      unseal: seal.unseal,
      makeHmacKey: ports.makeHmacKey,
      now,
      monotonic,
    }),
    tenancy,
    isGithubAddress: settings.githubAddressesOnly ? createIsGithubAddress(kernel) : undefined,
    rateLimit: newRateLimit(),
    callbackTokens,
    tokenRateLimit: newRateLimit(),
    allowUnsigned: settings.allowUnsigned,
    runJob,
    maxValues: (settings.limits ?? DEFAULT_BODY_LIMITS).webhookValues,
    newId,
    now,
    ...observer,
    close: callbackTokens.close,
  };
}

function createIsGithubAddress({ ports, settings }: Kernel): (address: string) => boolean {
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
