/** The hub on Node: opens the store, makes the ports, and serves the hub over HTTP. */
import type { IncomingMessage } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { isLivePath, isSocketPath } from "../../api/live-streams.ts";
import type { HostPorts } from "../../host-ports.ts";
import { createHub, type Hub } from "../../hub.ts";
import { CALLBACK_SOURCE } from "../../ingest/ingest-log.ts";
import { isIngestPath } from "../../ingest/receive-request.ts";
import { sources } from "../../ingest/sources/index.ts";
import { createSeal } from "../../lib/seal.ts";
import { createOutageLog } from "../../store/outage-log.ts";
import { isStorageUnavailable } from "../../store/storage-unavailable.ts";
import type { Store } from "../../store/store.ts";
import { ensureAdminToken, randomSecret } from "../../tenants/tokens.ts";
import { effectiveSettings } from "../effective-settings.ts";
import { assertSafe, hubSettings, signedSources } from "../hub-settings.ts";
import { localUrl, type Settings } from "../settings.ts";
import { assertOpens, warnOfShortSecrets } from "./check-seal.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { createGuardedWebFetch } from "./guarded-web-fetch.ts";
import { nodeHmacKey, nodeSha256Hex } from "./hmac.ts";
import { type HttpServer, openHttpServer } from "./http-server.ts";
import { type HubFile, removeHubFile, writeHubFile } from "./hub-file.ts";
import { createLiveTransport } from "./live.ts";
import type { Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { openCommand } from "./open-command.ts";
import { isSqlite, reserveDatabase } from "./open-store.ts";
import { openWhenAvailable } from "./open-when-available.ts";
import { createReceiver } from "./receive.ts";
import { createSandbox } from "./sandbox.ts";
import { sealKey } from "./seal-key.ts";
import { systemTimers } from "./system-timers.ts";
import { createReadWebFile } from "./web-files.ts";

export interface StartOptions {
  settings: Settings;
  log: Logger;
  version: string;
  /** How long a client may take to send one request. */
  requestTimeoutMs?: number;
  /** How long stopping may take, open requests included. */
  stopTimeoutMs?: number;
  /** How long a client that is still sending may read its rejection before the connection closes. */
  lingerMs?: number;
  bodyBudgetBytes?: number;
  sweepEveryMs?: number;
}

export interface RunningHub {
  /** The address on which it listens. */
  url: string;
  /** An address of this machine that reaches it. */
  localUrl: string;
  publicUrl: string;
  store: Store;
  /** Whether it accepts webhooks of sources without a secret. */
  unsigned: boolean;
  /** The generated token; only on the first start, if the settings contain none. */
  adminToken: string | undefined;
  /** The path and fragment of the link that opens the web UI, and signs in once. */
  signInPath: string;
  stop(): Promise<void>;
}

export async function startHub({
  settings,
  log,
  version,
  requestTimeoutMs = 30_000,
  stopTimeoutMs = 10_000,
  lingerMs = 1_000,
  bodyBudgetBytes = 256 * 1024 * 1024,
  sweepEveryMs,
}: StartOptions): Promise<RunningHub> {
  const outages = createOutageLog({ log, timers: systemTimers });
  const releaseDatabase = await reserveDatabase(settings);
  const store = await openWhenAvailable(settings, { outages, log }).catch((error: unknown) => {
    releaseDatabase();
    throw error;
  });
  const sandbox = createSandbox();
  let hub: Hub | undefined;
  let server: HttpServer | undefined;
  let withdraw = () => {};
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
      withdraw();
      releaseDatabase();
      await sandbox.close();
    }
  };

  try {
    // The lock shows that its hub has ended. Replicas may share a data folder.
    if (isSqlite(settings)) removeHubFile(settings.data);
    const localToken = randomSecret("sbx_local_");
    const storedSecrets = await countSecrets(store);
    assertSafe(settings, storedSecrets);
    const sealed = await store.sampleSealed();
    const { acceptLostKey } = settings;
    const key = sealKey(settings.key, settings.data, {
      create: sealed.length === 0 || acceptLostKey,
    });
    const seal = createSeal(key);
    await assertOpens(seal, sealed, { acceptLostKey, log });
    await warnOfShortSecrets(settings, { store, seal, log });
    const resolved = {
      ...hubSettings(settings, storedSecrets),
      version,
      effectiveSettings: effectiveSettings(settings.origins),
      localToken,
      sealKey: key,
      bodyBudgetBytes,
      sweepEveryMs,
    };
    const { allowPrivate } = settings;
    const ports: HostPorts = {
      fetch,
      guardedFetch: createGuardedFetch({ allowPrivate }),
      guardedWebFetch: createGuardedWebFetch({ allowPrivate, allowHttp: resolved.allowHttp }),
      openCommand: settings.allowCommands === "on" ? openCommand : undefined,
      readWebFile: createReadWebFile(),
      evaluate: sandbox.evaluate,
      makeHmacKey: nodeHmacKey,
      sha256Hex: nodeSha256Hex,
      timers: systemTimers,
      log,
      metrics: createMetrics({
        sources: [...sources.map(({ id }) => id), CALLBACK_SOURCE],
        nodeTypes: [...nodeTypes.keys()],
      }),
    };
    hub = await createHub({ store, ports, settings: resolved });
    server = await openServer(hub, { settings, log, requestTimeoutMs, lingerMs });
    const { url } = server;
    const started = await hub.start(url);
    // The token is printed only once, so it is not created if the host fails to listen.
    const adminToken = await ensureAdminToken(store, resolved.adminToken, Date.now());
    const signInPath = await hub.createSignInPath();
    const local = localAddress(url);
    withdraw = announce(settings.data, log, {
      pid: process.pid,
      url: local,
      public_url: started.publicUrl,
      tenancy: settings.tenancy,
      signed_sources: signedSources(settings),
      unsigned: resolved.allowUnsigned,
      started_at: new Date().toISOString(),
      version,
      token: localToken,
    });
    const { allowUnsigned: unsigned } = resolved;
    return { ...started, adminToken, signInPath, url, localUrl: local, store, unsigned, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A hub on PostgreSQL needs no writable data folder. */
function announce(data: string, log: Logger, file: HubFile): () => void {
  try {
    return writeHubFile(data, file);
  } catch (error) {
    log.warn(
      { err: error },
      `commands on this machine do not find this hub: ${data} is not writable. Give them SIGNALBOX_URL and SIGNALBOX_TOKEN`,
    );
    return () => {};
  }
}

function localAddress(listeningAt: string): string {
  const { hostname, port } = new URL(listeningAt);
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
          ? live.sse(request, response)
          : fetch(request, response),
    isUpgradable: ({ url }) => isSocketPath(url ?? ""),
    upgrade: live.upgrade,
  });
}

const isLive = ({ url }: IncomingMessage): boolean => isLivePath(url ?? "");

const countSecrets = async (store: Store): Promise<number> =>
  (await store.listSources()).reduce((sum, { secrets }) => sum + secrets.length, 0);
