/**
 * The hub on Node: opens the store, joins it to the pipeline, and serves both over HTTP. Stopping
 * finishes what was accepted, refuses what is new, and takes a bounded time.
 */
import type { IncomingMessage } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { tripInWords } from "@signalbox/rules/match/breaker.ts";
import { createApp } from "../../api/app.ts";
import { parseNetworks } from "../../ingest/addresses.ts";
import { createEndpoints } from "../../ingest/endpoints.ts";
import { createGithubRanges } from "../../ingest/github-ranges.ts";
import type { Rejection } from "../../ingest/ingest-outcome.ts";
import { createRateLimit } from "../../ingest/rate-limit.ts";
import { sources } from "../../ingest/sources/index.ts";
import { createIds } from "../../lib/ids.ts";
import { createSeal } from "../../lib/seal.ts";
import { createPipeline, type Observation } from "../../pipeline.ts";
import { createGroupCommit } from "../../store/group-commit.ts";
import type { TrippedTrigger } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";
import { createGithubTenancy, LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { ensureAdminToken } from "../../tenants/tokens.ts";
import { allowsUnsigned, checkSafety, quotaOf, retentionOf, type Settings } from "../settings.ts";
import { createAgents } from "./agents.ts";
import { createArrivalLog } from "./arrival-log.ts";
import { createFlowSide } from "./flows.ts";
import { nodeHmacKey } from "./hmac.ts";
import { openHttpServer } from "./http-server.ts";
import type { Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { takeOver } from "./older-flows.ts";
import { openStore } from "./open-store.ts";
import { createReadiness } from "./readiness.ts";
import { createReceiver, WEBHOOKS } from "./receive.ts";
import { sealKey } from "./seal-key.ts";
import { startSweeper } from "./sweeper.ts";
import { within } from "./within.ts";

export interface HubOptions {
  settings: Settings;
  log: Logger;
  version: string;
  /** How long one request may take to arrive. */
  requestTimeoutMs?: number;
  /** How long stopping may take, with all that is under way. */
  stopTimeoutMs?: number;
  /** How long somebody who was refused too early to be heard out has to read why. */
  lingerMs?: number;
  /** What all bodies that are being read may hold together. */
  bodyBudgetBytes?: number;
  sweepEveryMs?: number;
}

export interface Hub {
  /** Where it listens. */
  url: string;
  /** Where others reach it. */
  publicUrl: string;
  store: Store;
  unsigned: boolean;
  /** Only on the first start, and only where none was given. */
  adminToken: string | undefined;
  stop(): Promise<void>;
}

export async function startHub({
  settings,
  log,
  version,
  requestTimeoutMs = 30_000,
  stopTimeoutMs = 10_000,
  lingerMs = 1_000,
  bodyBudgetBytes = 512 * 1024 * 1024,
  sweepEveryMs,
}: HubOptions): Promise<Hub> {
  const storageTrouble = (error: unknown) => log.error({ err: error }, "storage trouble");
  const onError = (error: unknown) => log.error({ err: error }, "a request failed");
  const store = await openStore(settings, storageTrouble);
  try {
    return await serve(store);
  } catch (error) {
    await store.close();
    throw error;
  }

  async function serve(store: Store): Promise<Hub> {
    const stored = await store.listSources();
    const storedSecrets = stored.reduce((sum, { secrets }) => sum + secrets.length, 0);
    checkSafety(settings, storedSecrets);
    const seal = createSeal(sealKey(settings.key, settings.data));
    const single = settings.tenancy === "single";
    if (single) await store.putTenant({ id: LOCAL_TENANT, at: Date.now() });
    await takeOver(store, single ? LOCAL_TENANT : undefined, log);
    const unsigned = allowsUnsigned(settings, storedSecrets);

    const metrics = createMetrics(new Set(sources.map(({ id }) => id)));
    const useAllowlist =
      settings.githubIpAllowlist === "on" ||
      (settings.githubIpAllowlist === "auto" && settings.isPublic);
    const ranges = createGithubRanges({
      apiUrl: settings.githubApiUrl,
      fetch,
      now: Date.now,
      onError: (error) =>
        log.warn({ err: error }, "GitHub's addresses could not be renewed; the last list stays"),
    });
    if (useAllowlist) void ranges.refresh();

    const readiness = createReadiness({
      check: () => store.checkWritable(Date.now()),
      now: Date.now,
      onError: storageTrouble,
    });
    const commit = createGroupCommit({
      store: {
        isDataError: store.isDataError,
        async appendEvents(batch, quota) {
          try {
            const appended = await store.appendEvents(batch, quota);
            readiness.worked();
            return appended;
          } catch (error) {
            if (!store.isDataError(error)) readiness.failed(error);
            throw error;
          }
        },
      },
      quota: quotaOf(settings),
      defer: setImmediate,
      onBatch: metrics.batch,
    });
    const logArrival = createArrivalLog(log, setImmediate);
    const observe = (seen: Observation) => {
      metrics.observe(seen);
      logArrival(seen);
    };
    // Refused before it was known whom it is for.
    const onRejected = (outcome: Rejection, address: string) =>
      observe({ source: "", address, outcome, took: 0 });
    const onTripped = (tenant: string, { isFirst, ...trip }: TrippedTrigger) => {
      metrics.trip(trip.limit);
      if (isFirst) log.warn({ tenant, ...trip }, `a trigger was stopped: ${tripInWords(trip)}`);
    };
    const flowSide = createFlowSide({
      store,
      commit,
      settings,
      seal,
      version,
      onTripped,
      onError,
    });
    const pipeline = createPipeline({
      append: flowSide.append,
      endpoints: createEndpoints({
        sources,
        store,
        secrets: settings.secrets,
        tenant: single ? LOCAL_TENANT : undefined,
        unseal: seal.unseal,
        makeHmacKey: nodeHmacKey,
        now: Date.now,
      }),
      tenancy: single ? undefined : createGithubTenancy(store, Date.now),
      isGithubAddress: useAllowlist ? ranges.includes : undefined,
      rateLimit: createRateLimit({ perSecond: settings.rateLimit, now: Date.now }),
      allowUnsigned: unsigned,
      newId: createIds(),
      now: Date.now,
      observe,
    });

    let stopping = false;
    const isStopping = () => stopping;
    const receive = createReceiver({
      receive: pipeline.receive,
      isStopping,
      onRejected,
      lingerMs,
      bodyBudgetBytes,
      proxy: settings.proxyHeader
        ? {
            header: settings.proxyHeader.toLowerCase(),
            networks: parseNetworks(settings.proxyAddresses),
          }
        : undefined,
    });
    const app = createApp({
      checkReady: readiness.check,
      metrics,
      isStopping,
      onError,
      home: async () => ({
        version,
        url: http.url,
        webhookUrl: `${publicUrl}${WEBHOOKS}github`,
        unsigned,
        storage: STORAGE[store.backend],
        pending: single ? (await store.pendingStatus(LOCAL_TENANT)).pending_count : null,
      }),
    });
    const agents = createAgents({
      store,
      settings,
      version,
      seal,
      triggers: flowSide.triggers,
      calls: flowSide.calls,
      onDelivery: metrics.delivery,
      onError,
    });
    agents.addRoutes(app);
    flowSide.addRoutes(app, agents.authorizeRequest);
    const rest = getRequestListener(app.fetch, { hostname: "no-host.invalid" });
    const closeSides = () => Promise.all([agents.close(), flowSide.close()]);
    const http = await openHttpServer({
      host: settings.host,
      port: settings.port,
      requestTimeoutMs,
      lingerMs,
      onRejected,
      handle: (request, response) =>
        request.url?.startsWith(WEBHOOKS)
          ? receive(request, response)
          : isEvents(request)
            ? agents.live.sse(request, response)
            : rest(request, response),
      isUpgradable: isEvents,
      upgrade: agents.live.upgrade,
    }).catch(async (error: unknown) => {
      await closeSides();
      throw error;
    });
    const publicUrl = (settings.publicUrl ?? http.url).replace(/\/$/, "");
    // Only now: shown once, it would be lost for good were the port taken.
    const adminToken = await ensureAdminToken(store, settings.token, Date.now()).catch(
      async (error: unknown) => {
        await Promise.all([closeSides(), http.close(0)]);
        throw error;
      },
    );
    agents.start();
    const stopSweeping = startSweeper({
      store,
      retention: retentionOf(settings),
      runsFor: settings.keepRunsDays * DAY_MS,
      metrics,
      log,
      everyMs: sweepEveryMs,
    });

    return {
      url: http.url,
      publicUrl,
      store,
      unsigned,
      adminToken,
      async stop() {
        if (stopping) return;
        stopping = true;
        const end = performance.now() + stopTimeoutMs;
        const left = () => Math.max(0, end - performance.now());
        stopSweeping();
        try {
          // Not all of the time: what slow clients leave is for storing what the others sent.
          const quiet = Promise.all([closeSides(), http.close(stopTimeoutMs * 0.8)]);
          await within(left(), quiet, "Not every request could be finished in time.");
          await within(left(), commit.drain(), "Not everything could be stored in time.");
        } finally {
          await within(left(), store.close(), "The database could not be closed in time.");
        }
      },
    };
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;

const isEvents = ({ url }: IncomingMessage): boolean => /^\/events(\?|$)/.test(url ?? "");

const STORAGE: Record<Store["backend"], string> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  "durable-object": "Durable Objects",
};
