/** What checks the requests with webhooks and callbacks, and reports their outcomes. */

import { createRateLimit } from "../../kernel/http/rate-limit.ts";
import { DEFAULT_BODY_LIMITS } from "../../kernel/lib/limits.ts";
import type { Kernel } from "../../part.ts";
import type { AdmitCallbackOptions } from "../callback/admit-callback.ts";
import { createCallbackTokenCache } from "../callback/callback-token-cache.ts";
import type { EventMetrics } from "../metrics.ts";
import { sources } from "../sources/index.ts";
import { createEndpoints, type Endpoints } from "./endpoints.ts";
import { createGithubRanges } from "./github-ranges.ts";
import type { IngestOptions } from "./ingest.ts";
import { CALLBACK_SOURCE, createIngestLog, type IngestObservation } from "./ingest-log.ts";
import { createRejectionCounts, type RejectionCounts } from "./rejection-counts.ts";

export interface Admission extends IngestOptions, AdmitCallbackOptions {
  endpoints: Endpoints;
  rejections: RejectionCounts;
  /** Called once for each webhook and each callback. */
  observe(observation: IngestObservation): void;
  /** Unsubscribes from the notices that invalidate cached tokens. */
  close(): void;
}

export function createAdmission(
  kernel: Kernel,
  { tenancy, metrics }: { tenancy: IngestOptions["tenancy"]; metrics: EventMetrics },
): Admission {
  const { store, ports, settings, seal, newId, tenant } = kernel;
  const { log, timers, runJob } = ports;
  const { now, monotonic } = timers;
  const logRequest = createIngestLog(log, ports.deferCommit ?? timers.defer);
  const rejections = createRejectionCounts([...sources.map(({ id }) => id), CALLBACK_SOURCE], now);
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
    rejections,
    observe(observation) {
      metrics.observe(observation);
      rejections.observe(observation);
      logRequest(observation);
    },
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
