/**
 * Composes store, pipeline, runner, MCP servers and API into one hub, on any host. The host opens
 * the store, provides `HostPorts`, and serves the returned `Hub` over HTTP.
 *
 * `Hub.stop` rejects new requests and finishes the accepted ones, within a time limit.
 */
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Hono } from "hono";
import { commandRefusal } from "./connections/command.ts";
import type { Keeper } from "./connections/keeper.ts";
import {
  createReceiveRequest,
  type ReceiveRequest,
  WEBHOOKS,
} from "./events/admit/receive-request.ts";
import { createInbox } from "./events/inbox/inbox.ts";
import type { LiveStreams } from "./events/live/live-streams.ts";
import { startSweeper } from "./events/retention/sweeper.ts";
import { logLegacyMigration } from "./flows/import/log-legacy-migration.ts";
import { migrateLegacyFlows } from "./flows/import/migrate-legacy-flows.ts";
import { measureByTenant } from "./flows/runs/queued-by-tenant.ts";
import { createLookUpInstallation, requestInstallation } from "./github/look-up-installation.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import { createHubAgents } from "./hub-agents.ts";
import { createHubConnections, keepConnections } from "./hub-connections.ts";
import { createHubGithub } from "./hub-github.ts";
import { createHubPeople } from "./hub-people.ts";
import { createHubPipeline } from "./hub-pipeline.ts";
import { createHubRoutes } from "./hub-routes.ts";
import { createHubRuns } from "./hub-runs.ts";
import { LOCAL_TENANT } from "./kernel/access/scopes.ts";
import { type BodyBudget, createBodyBudget } from "./kernel/http/body-budget.ts";
import type { HubInfo } from "./kernel/http/hub-info.ts";
import type { Rejection } from "./kernel/http/ingest-outcome.ts";
import { createIds } from "./kernel/lib/ids.ts";
import { createSeal } from "./kernel/lib/seal.ts";
import type { Timers } from "./kernel/lib/timers.ts";
import { withTimeout } from "./kernel/lib/with-timeout.ts";
import { isStorageUnavailable } from "./kernel/store/storage-unavailable.ts";
import type { Store } from "./kernel/store/store.ts";
import { withPeople } from "./people/with-people.ts";
import type { RedeliverySchedule } from "./redelivery/schedule.ts";
import { withLocalToken } from "./tokens/local-token.ts";
import { signInPath } from "./tokens/session-routes.ts";
import { createSessions, OPERATOR } from "./tokens/sessions.ts";

export interface HubOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
}

export interface Hub {
  /** Handles a webhook or a callback: a request for which `isIngestPath` is true. */
  receive: ReceiveRequest;
  bodyBudget: BodyBudget;
  /** Logs and counts a request that the host rejected before it reached a route. */
  onRejected(rejection: Rejection, address: string): void;
  /** Serves `GET /events` and `GET /api/live`. */
  live: LiveStreams;
  /** Serves every other route. */
  app: Hono;
  isStopping(): boolean;
  /** The host calls `start` after it has begun to listen; `url` is its address. */
  start(url: string): Promise<StartedHub>;
  /** Returns the path and fragment of a one-time link that signs the operator in to the web UI. */
  createSignInPath(): Promise<string>;
  /** Closes the hub and its store. `closeServer` resolves when the host has no open requests. */
  stop(timeoutMs: number, closeServer?: (timeoutMs: number) => Promise<void>): Promise<void>;
}

interface StartedHub {
  publicUrl: string;
}

export async function createHub(options: HubOptions): Promise<Hub> {
  const { store, settings } = options;
  const timers = createReportingTimers(options.ports);
  const ports: HostPorts = { ...options.ports, timers };
  const { log } = ports;
  const { now } = timers;
  const newId = createIds();
  const seal = createSeal(settings.sealKey, settings.formerSealKeys);
  const onError = (error: unknown) => {
    if (!isStorageUnavailable(error)) log.error({ err: error }, "unexpected error");
  };
  const hubPeople = createHubPeople({ store, ports, settings, seal, onError });
  // Looks up tokens, with the current roles of their people.
  const storedTokens = withPeople(store, hubPeople?.people);
  const tokens =
    settings.localToken === undefined
      ? storedTokens
      : await withLocalToken(storedTokens, settings.localToken, now());
  // Undefined if the hub has many tenants.
  const tenant = settings.tenancy === "single" ? LOCAL_TENANT : undefined;
  if (tenant !== undefined) await store.putTenant({ id: tenant, at: now() });
  await logLegacyMigration(log, () =>
    migrateLegacyFlows({
      store,
      registry: nodeTypes,
      evaluate: ports.evaluate,
      tenant,
      newId,
      now,
    }),
  );

  const closing = new AbortController();
  const github = await createHubGithub({ store, ports, settings, tenant, closing: closing.signal });
  const pipeline = createHubPipeline({
    store,
    ports,
    settings,
    seal,
    newId,
    onError,
    tenant,
    lookUpInstallation:
      github && createLookUpInstallation(requestInstallation(github.app, log), timers.monotonic),
  });
  // Set by `start`.
  let url = "";
  let publicUrl = "";
  const startedUrl = Promise.withResolvers<string>();
  const connections = createHubConnections({
    store,
    ports,
    settings,
    seal,
    publicUrl: startedUrl.promise,
    onError,
  });
  const inbox = createInbox({ store, now, evaluate: ports.evaluate });
  const runs = createHubRuns({
    store,
    ports,
    settings,
    seal,
    newId,
    pipeline,
    connections,
    inbox,
    onError,
  });
  const { calls, explainer } = runs;
  const common = { store, tokens, ports, settings, seal, newId, calls, explainer, onError };
  const agents = createHubAgents({ ...common, inbox });
  ports.metrics.setGauges({
    pendingEvents: store.countPending,
    matchingEvents: () => store.countMatching(MAX_COUNTED_MATCHING),
    databaseSize: store.measureSize,
    connectedStreams: agents.live.countConnected,
    queues: () => measureByTenant(store, now()),
    load: runs.readLoad,
    ...(ports.queuedEvaluations && { queuedEvaluations: ports.queuedEvaluations }),
    ...(github && { redelivery: github.readGauges }),
  });
  const isStopping = () => closing.signal.aborted;
  const startedAt = new Date(now()).toISOString();
  const sessions = createSessions({ store, tokens, newId, now });
  let stopSweeper = () => {};
  let keeper: Keeper | undefined;
  let redelivery: RedeliverySchedule | undefined;
  const app = createHubRoutes({
    ...common,
    connections,
    registry: nodeTypes,
    agents,
    closing: closing.signal,
    checkReady: pipeline.checkReady,
    rejections: pipeline.rejections,
    drafts: runs.drafts,
    readLoad: runs.readLoad,
    sendSample: pipeline.sendSample,
    sendTestEvent: pipeline.sendTestEvent,
    wakeRedelivery: () => redelivery?.wake(),
    sessions,
    hubPeople,
    hubInfo: (origin) =>
      hubInfoOf(options, settings.publicUrl?.replace(/\/$/, "") ?? origin, startedAt),
    home: async (isLocal) => ({
      version: settings.version,
      url,
      webhookUrl: `${publicUrl}${WEBHOOKS}github`,
      acceptsUnsigned: settings.allowUnsigned,
      storage: STORAGE_NAMES[store.backend],
      pending: tenant === undefined ? null : (await store.pendingStatus(tenant)).pending_count,
      // The start page requires no token, so it shows events only to browsers on this machine.
      newest:
        tenant === undefined || !isLocal || settings.isPublic
          ? null
          : (await inbox.listSummaries([tenant], { limit: START_PAGE_EVENTS })).events,
    }),
  });
  // The source is unknown: these requests are rejected before it is read from their path.
  const onRejected: Hub["onRejected"] = (rejection, address) =>
    pipeline.observe({ source: "", address, outcome: rejection, took: 0 });

  return {
    receive: createReceiveRequest({
      receive: pipeline.receive,
      receiveCallback: pipeline.receiveCallback,
      proxy: settings.proxy,
      isStopping,
      onRejected,
    }),
    bodyBudget: createBodyBudget(settings.bodyBudgetBytes),
    onRejected,
    live: agents.live,
    app,
    isStopping,

    async start(listeningAt) {
      url = listeningAt;
      publicUrl = (settings.publicUrl ?? url).replace(/\/$/, "");
      startedUrl.resolve(publicUrl);
      agents.start();
      stopSweeper = startSweeper({
        store,
        retention: settings.retention,
        keepRunsMs: settings.keepRunsMs,
        everyMs: settings.sweepEveryMs,
        onSwept: ports.metrics.countSwept,
        log,
        timers,
      });
      keeper = keepConnections({
        store,
        ports,
        settings,
        seal,
        connections,
        append: pipeline.append,
        publicUrl,
        newId,
        onError,
      });
      redelivery = github?.scheduleRedelivery(newId());
      return { publicUrl };
    },

    createSignInPath: async () => signInPath(await sessions.createCode(OPERATOR)),

    async stop(timeoutMs, closeServer = async () => {}) {
      if (isStopping()) return;
      closing.abort();
      stopSweeper();
      pipeline.unsubscribe();
      const stoppedAt = performance.now();
      const errors: unknown[] = [];
      /**
       * Waits for `work` until `share` of `timeoutMs` has elapsed since the stop began, which leaves time
       * for later work. Collects its error, so that later work still runs.
       */
      const finish = async (share: number, work: () => Promise<unknown>, message: string) => {
        const left = Math.max(0, stoppedAt + timeoutMs * share - performance.now());
        await withTimeout(timers, left, work(), message).catch((error) => errors.push(error));
      };
      const closeAll = () =>
        Promise.all([
          agents.close(),
          runs.close(),
          keeper?.close(),
          redelivery?.close(),
          closeServer(timeoutMs * 0.8),
        ]);
      await finish(0.85, closeAll, "Some requests did not finish in time.");
      await finish(0.9, connections.close, "Some connections did not close.");
      await finish(0.95, pipeline.drain, "Some events were not stored in time.");
      await finish(0.97, pipeline.close, "Some events were not released in time.");
      await finish(1, store.close, "The database did not close in time.");
      if (errors.length > 0) throw errors[0];
    },
  };
}

/**
 * Returns timers that report their due times to a host that evicts idle hubs. An eviction loses the timers,
 * but the restarted hub looks up which work is due.
 */
function createReportingTimers({ timers, wakeAt }: HostPorts): Timers {
  if (!wakeAt) return timers;
  return {
    ...timers,
    after(ms, work) {
      wakeAt(timers.now() + ms);
      return timers.after(ms, work);
    },
  };
}

const hubInfoOf = (
  { store, ports, settings }: HubOptions,
  url: string,
  startedAt: string,
): HubInfo => ({
  version: settings.version,
  url,
  webhook_url: `${url}${WEBHOOKS}`.replace(/\/$/, ""),
  mcp_url: `${url}/mcp`,
  storage: store.backend,
  tenancy: settings.tenancy,
  is_public: settings.isPublic,
  accepts_unsigned: settings.allowUnsigned,
  allows_commands: commandRefusal(ports.openCommand) === undefined,
  install_url: installUrl(settings),
  started_at: startedAt,
});

const installUrl = ({ tenancy, github: { url, slug } }: HubSettings): string | null =>
  tenancy === "single" || slug === undefined ? null : `${url}/apps/${slug}/installations/new`;

const START_PAGE_EVENTS = 8;
const MAX_COUNTED_MATCHING = 10_000;

const STORAGE_NAMES: Record<Store["backend"], string> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  "durable-object": "Durable Objects",
};
