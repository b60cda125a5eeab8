/** Starts the hub on Node: opens the store, creates the host ports, and serves the hub over HTTP. */

import type { IncomingMessage } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { type HubFile, removeHubFile, writeHubFile } from "@signalbox/cli/src/hub-file.ts";
import { localUrl } from "@signalbox/cli/src/settings.ts";
import { effectiveSettings } from "../../effective-settings.ts";
import { isIngestPath } from "../../events/admit/receive-request.ts";
import { isLivePath, isSocketPath } from "../../events/live/live-streams.ts";
import { withSimpleFilters } from "../../flows/sandbox/simple-filters.ts";
import type { HostPorts } from "../../host-ports.ts";
import { createHub, type Hub } from "../../hub.ts";
import { assertSafe, hubSettings, signedSources } from "../../hub-settings.ts";
import { randomSecret } from "../../kernel/lib/random-secret.ts";
import { createSeal } from "../../kernel/lib/seal.ts";
import {
  createOutageLog,
  isStorageUnavailable,
  type OutageLog,
} from "../../kernel/store/availability.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store.ts";
import type { Tenant } from "../../tenants/model.ts";
import { hasOperatorToken } from "../../tokens/operator-token.ts";
import { ensureAdminToken } from "../../tokens/tokens.ts";
import { markDatabase } from "./data-folder.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { createGuardedWebFetch } from "./guarded-web-fetch.ts";
import { type HttpServer, openHttpServer } from "./http-server.ts";
import { createJobWorkers } from "./job-workers.ts";
import { createLiveTransport } from "./live.ts";
import type { Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { isSqlite, openStore, reserveDatabase, sqliteFile } from "./open-store.ts";
import {
  createReadWebFile,
  nodeHmacKey,
  nodeSha256Hex,
  openCommand,
  systemTimers,
} from "./ports.ts";
import { createReceiver } from "./receive.ts";
import { loadSealKeys } from "./seal-key.ts";
import { assertKeyDecrypts, warnOfShortSecrets } from "./stored-secrets.ts";
import { whenAvailable } from "./when-available.ts";

export interface StartOptions {
  settings: Settings;
  log: Logger;
  version: string;
  /** How long a client may take to send one request. */
  requestTimeoutMs?: number;
  /** How long `stop` may take, including open requests. */
  stopTimeoutMs?: number;
  /** How long a client that is still sending may read its rejection before the connection closes. */
  lingerMs?: number;
  bodyBudgetBytes?: number;
  sweepEveryMs?: number;
}

export interface RunningHub {
  /** The URL on which the hub listens. */
  url: string;
  /** A URL that reaches the hub from this machine. */
  localUrl: string;
  publicUrl: string;
  store: Store;
  /** Whether webhooks of sources without a secret are accepted. */
  acceptsUnsigned: boolean;
  /** The generated token; only on the first start, if the settings contain none. */
  adminToken: string | undefined;
  /** Whether an admin token for all tenants is active. */
  hasOperatorToken: boolean;
  /** One of the tenants, if there is one, for examples. */
  tenant: Pick<Tenant, "id" | "name"> | undefined;
  /** The path and fragment of the link that opens the web UI and signs in. It works once. */
  signInPath: string;
  stop(): Promise<void>;
}

export async function startHub(options: StartOptions): Promise<RunningHub> {
  const { settings, log } = options;
  const outages = createOutageLog({ log, timers: systemTimers });
  return whenAvailable({ settings, log, outages }, (ownOutages) => startOnce(options, ownOutages));
}

async function startOnce(
  {
    settings,
    log,
    version,
    requestTimeoutMs = 30_000,
    stopTimeoutMs = 10_000,
    lingerMs = 1_000,
    bodyBudgetBytes = 256 * 1024 * 1024,
    sweepEveryMs,
  }: StartOptions,
  outages: OutageLog,
): Promise<RunningHub> {
  const releaseDatabase = await reserveDatabase(settings);
  const store = await openStore(settings, { outages, vacuum: "former" }).catch((error: unknown) => {
    releaseDatabase();
    throw error;
  });
  if (store.file?.notConverted)
    log.warn(
      `the database file was created by an earlier version and cannot shrink: ${store.file.notConverted}`,
    );
  const workers = createJobWorkers();
  let hub: Hub | undefined;
  let server: HttpServer | undefined;
  let removeAnnouncement = () => {};
  let stopping: Promise<void> | undefined;
  /** A second call waits for the first one. */
  const stop = (): Promise<void> => {
    stopping ??= stopOnce();
    return stopping;
  };
  const stopOnce = async () => {
    try {
      if (hub) await hub.stop(stopTimeoutMs, async (timeoutMs) => server?.close(timeoutMs));
      else await store.close();
    } finally {
      removeAnnouncement();
      releaseDatabase();
      await workers.close();
    }
  };

  try {
    // This process has the lock of the database, so the hub that wrote the file has ended. With
    // PostgreSQL, the file may belong to a running replica with the same data folder.
    if (isSqlite(settings)) removeHubFile(settings.data);
    const localToken = randomSecret("sbx_local_");
    const storedSecretCount = await countSecrets(store);
    assertSafe(settings, storedSecretCount);
    const sealedSamples = await store.sampleSealed();
    const { acceptLostKey } = settings;
    const [sealKey, ...formerSealKeys] = loadSealKeys(settings.key, settings.data, {
      canCreate: sealedSamples.length === 0 || acceptLostKey,
    });
    if (isSqlite(settings)) markDatabase(settings.data, sqliteFile(settings));
    const seal = createSeal(sealKey, formerSealKeys);
    if (formerSealKeys.length > 0)
      log.warn(
        "the hub has a new key and a former one: finish the rotation with `npx signalbox key rotate`",
      );
    await assertKeyDecrypts(seal, sealedSamples, { acceptLostKey, log });
    await warnOfShortSecrets(settings, { store, seal, log });
    const resolvedSettings = {
      ...hubSettings(settings, storedSecretCount),
      version,
      effectiveSettings: effectiveSettings(settings.origins),
      localToken,
      sealKey,
      formerSealKeys,
      bodyBudgetBytes,
      sweepEveryMs,
    };
    const { allowPrivate } = settings;
    const ports: HostPorts = {
      fetch,
      guardedFetch: createGuardedFetch({ allowPrivate }),
      guardedWebFetch: createGuardedWebFetch({
        allowPrivate,
        allowHttp: resolvedSettings.allowHttp,
      }),
      openCommand: settings.allowCommands === "on" ? openCommand : undefined,
      readWebFile: createReadWebFile(),
      runJob: withSimpleFilters(workers.runJob),
      runsJobsInBackground: true,
      queuedJobs: workers.queued,
      makeHmacKey: nodeHmacKey,
      sha256Hex: nodeSha256Hex,
      timers: systemTimers,
      log,
      metrics: createMetrics(),
    };
    hub = await createHub({ store, ports, settings: resolvedSettings });
    server = await openServer(hub, { settings, log, requestTimeoutMs, lingerMs });
    const { url } = server;
    const started = await hub.start(url);
    const signInPath = await hub.createSignInPath();
    const tenant = (await store.listTenants("", 1)).find(({ deleting }) => !deleting);
    // A generated token is printed only once, so it is created last: no later query can fail.
    const adminToken = await ensureAdminToken(store, resolvedSettings.adminToken, Date.now());
    const hasToken = adminToken !== undefined || (await hasOperatorToken(store, Date.now()));
    const local = localAddress(url);
    removeAnnouncement = announce(settings.data, log, {
      pid: process.pid,
      url: local,
      public_url: started.publicUrl,
      tenancy: settings.tenancy,
      signed_sources: signedSources(settings),
      unsigned: resolvedSettings.allowUnsigned,
      started_at: new Date().toISOString(),
      version,
      token: localToken,
    });
    const { allowUnsigned: acceptsUnsigned } = resolvedSettings;
    return {
      ...started,
      adminToken,
      hasOperatorToken: hasToken,
      tenant,
      signInPath,
      url,
      localUrl: local,
      store,
      acceptsUnsigned,
      stop,
    };
  } catch (error) {
    await stop().catch(() => {}); // `error` is the cause
    throw error;
  }
}

/** Writes hub.json. A failure is only logged: a hub on PostgreSQL needs no writable data folder. */
function announce(data: string, log: Logger, file: HubFile): () => void {
  try {
    return writeHubFile(data, file);
  } catch (error) {
    log.warn(
      { err: error },
      `commands on this machine do not find this hub, since ${data} is not writable. Set SIGNALBOX_URL and SIGNALBOX_TOKEN for them`,
    );
    return () => {};
  }
}

function localAddress(listeningUrl: string): string {
  const { hostname, port } = new URL(listeningUrl);
  return localUrl({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) });
}

type ServerOptions = Required<
  Pick<StartOptions, "settings" | "log" | "requestTimeoutMs" | "lingerMs">
>;

function openServer(hub: Hub, options: ServerOptions): Promise<HttpServer> {
  const { settings, log, requestTimeoutMs, lingerMs } = options;
  const { bodyBudget, isStopping, onRejected } = hub;
  const receive = createReceiver({ receive: hub.receive, bodyBudget, isStopping, lingerMs });
  const live = createLiveTransport({
    streams: hub.live,
    onError(error) {
      if (!isStorageUnavailable(error)) log.error({ err: error }, "a request failed");
    },
  });
  // The host name is for HTTP/1.0 requests, which may have no Host header.
  const fetch = getRequestListener(hub.app.fetch, { hostname: "no-host.invalid" });
  return openHttpServer({
    host: settings.host,
    port: settings.port,
    requestTimeoutMs,
    lingerMs,
    onRejected,
    handle: (request, response) =>
      isIngestPath(request.url ?? "")
        ? receive(request, response)
        : isLive(request)
          ? live.serveSse(request, response)
          : fetch(request, response),
    isUpgradable: ({ url }) => isSocketPath(url ?? ""),
    upgrade: live.upgrade,
  });
}

const isLive = ({ url }: IncomingMessage): boolean => isLivePath(url ?? "");

const countSecrets = async (store: Store): Promise<number> =>
  (await store.listSources()).reduce((sum, { secrets }) => sum + secrets.length, 0);
