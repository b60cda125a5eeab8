/** The hub on Node: opens the store, makes the ports, and serves the hub over HTTP. */
import type { IncomingMessage } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { HostPorts } from "../../host-ports.ts";
import { createHub, type Hub } from "../../hub.ts";
import { WEBHOOKS } from "../../ingest/receive-webhook.ts";
import { sources } from "../../ingest/sources/index.ts";
import type { Store } from "../../store/store.ts";
import { assertSafe, hubSettings } from "../hub-settings.ts";
import type { Settings } from "../settings.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { nodeHmacKey } from "./hmac.ts";
import { type HttpServer, openHttpServer } from "./http-server.ts";
import { createLiveTransport } from "./live.ts";
import type { Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { openStore } from "./open-store.ts";
import { createReceiver } from "./receive.ts";
import { createSandbox } from "./sandbox.ts";
import { sealKey } from "./seal-key.ts";
import { systemTimers } from "./system-timers.ts";

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
  publicUrl: string;
  store: Store;
  /** Whether it accepts webhooks of sources without a secret. */
  unsigned: boolean;
  /** The generated token; only on the first start, if the settings contain none. */
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
}: StartOptions): Promise<RunningHub> {
  const onStorageError = (error: unknown) => log.error({ err: error }, "storage error");
  const store = await openStore(settings, onStorageError);
  const sandbox = createSandbox();
  let hub: Hub | undefined;
  let server: HttpServer | undefined;
  const stop = async () => {
    try {
      if (hub) await hub.stop(stopTimeoutMs, async (timeoutMs) => server?.close(timeoutMs));
      else await store.close();
    } finally {
      await sandbox.close();
    }
  };

  try {
    const storedSecrets = await countSecrets(store);
    assertSafe(settings, storedSecrets);
    const resolved = {
      ...hubSettings(settings, storedSecrets),
      version,
      sealKey: sealKey(settings.key, settings.data),
      bodyBudgetBytes,
      sweepEveryMs,
    };
    const ports: HostPorts = {
      fetch,
      guardedFetch: createGuardedFetch({ allowPrivate: settings.allowPrivate }),
      evaluate: sandbox.evaluate,
      makeHmacKey: nodeHmacKey,
      timers: systemTimers,
      log,
      metrics: createMetrics(new Set(sources.map(({ id }) => id))),
    };
    hub = await createHub({ store, ports, settings: resolved });
    server = await openServer(hub, { settings, log, requestTimeoutMs, lingerMs });
    const { url } = server;
    const started = await hub.start(url);
    return { ...started, url, store, unsigned: resolved.allowUnsigned, stop };
  } catch (error) {
    await stop();
    throw error;
  }
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
    onError: (error) => log.error({ err: error }, "a request failed"),
  });
  const fetch = getRequestListener(hub.app.fetch, { hostname: "no-host.invalid" });
  return openHttpServer({
    host: settings.host,
    port: settings.port,
    requestTimeoutMs,
    lingerMs,
    onRejected,
    handle: (request, response) =>
      request.url?.startsWith(WEBHOOKS)
        ? receive(request, response)
        : isLive(request)
          ? live.sse(request, response)
          : fetch(request, response),
    isUpgradable: isLive,
    upgrade: live.upgrade,
  });
}

const isLive = ({ url }: IncomingMessage): boolean => /^\/events(\?|$)/.test(url ?? "");

const countSecrets = async (store: Store): Promise<number> =>
  (await store.listSources()).reduce((sum, { secrets }) => sum + secrets.length, 0);
