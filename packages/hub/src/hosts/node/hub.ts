/**
 * The hub on Node: opens the store, joins it to the pipeline, and serves both over HTTP. Stopping
 * finishes what was accepted, refuses what is new, and takes a bounded time.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createApp } from "../../api/app.ts";
import { parseNetworks } from "../../ingest/addresses.ts";
import { createEndpoints } from "../../ingest/endpoints.ts";
import { createGithubRanges } from "../../ingest/github-ranges.ts";
import { createRateLimit } from "../../ingest/rate-limit.ts";
import { sources } from "../../ingest/sources/index.ts";
import { createIds } from "../../lib/ids.ts";
import { problem } from "../../lib/problem.ts";
import { createSeal } from "../../lib/seal.ts";
import { createPipeline } from "../../pipeline.ts";
import { createGroupCommit } from "../../store/group-commit.ts";
import type { Store } from "../../store/store.ts";
import { createGithubTenancy, LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { ensureAdminToken } from "../../tenants/tokens.ts";
import {
  allowsUnsigned,
  checkSafety,
  quotaOf,
  retentionOf,
  type Settings,
  SettingsError,
} from "../settings.ts";
import { createArrivalLog } from "./arrival-log.ts";
import { nodeHmacKey } from "./hmac.ts";
import type { Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { openStore } from "./open-store.ts";
import { createReceiver, WEBHOOKS } from "./receive.ts";
import { sealKey } from "./seal-key.ts";
import { startSweeper } from "./sweeper.ts";

export interface HubOptions {
  settings: Settings;
  log: Logger;
  version: string;
  /** How long one request may take to arrive. */
  requestTimeoutMs?: number;
  /** How long stopping waits for requests that are under way. */
  stopTimeoutMs?: number;
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
}: HubOptions): Promise<Hub> {
  const onError = (error: unknown) => log.error({ err: error }, "storage trouble");
  const store = await openStore(settings, onError);
  try {
    return await serve(store);
  } catch (error) {
    await store.close();
    throw error;
  }

  async function serve(store: Store): Promise<Hub> {
    const stored = await store.listSources();
    checkSafety(
      settings,
      stored.reduce((sum, { secrets }) => sum + secrets.length, 0),
    );
    const { unseal } = createSeal(sealKey(settings.key, settings.data));
    const single = settings.tenancy === "single";
    if (single) await store.putTenant({ id: LOCAL_TENANT, at: Date.now() });
    const adminToken = await ensureAdminToken(store, settings.token, Date.now());
    const unsigned = allowsUnsigned(settings) && settings.secrets.github?.length === 0;

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

    const commit = createGroupCommit({
      store,
      quota: quotaOf(settings),
      soon: setImmediate,
      onBatch: metrics.batch,
    });
    const logArrival = createArrivalLog(log, setImmediate);
    const pipeline = createPipeline({
      append: commit.append,
      endpoints: createEndpoints({
        sources,
        store,
        secrets: settings.secrets,
        tenant: single ? LOCAL_TENANT : undefined,
        unseal,
        makeHmacKey: nodeHmacKey,
        now: Date.now,
      }),
      tenancy: single ? undefined : createGithubTenancy(store, Date.now),
      isGithubAddress: useAllowlist ? ranges.includes : undefined,
      rateLimit: createRateLimit({ perSecond: settings.rateLimit, now: Date.now }),
      allowUnsigned: allowsUnsigned(settings),
      newId: createIds(),
      now: Date.now,
      observe(seen) {
        metrics.observe(seen);
        logArrival(seen);
      },
    });

    let stopping = false;
    const isStopping = () => stopping;
    const receive = createReceiver({
      receive: pipeline.receive,
      isStopping,
      proxy: settings.proxyHeader
        ? {
            header: settings.proxyHeader.toLowerCase(),
            networks: parseNetworks(settings.proxyAddresses),
          }
        : undefined,
    });
    const app = createApp({
      checkReady: () => store.checkWritable(Date.now()),
      metrics,
      isStopping,
      onError,
      home: async () => ({
        version,
        url,
        webhookUrl: `${publicUrl}${WEBHOOKS}github`,
        signed: !unsigned,
        storage: STORAGE[store.backend],
        pending: single ? (await store.pendingStatus(LOCAL_TENANT)).pending_count : null,
      }),
    });
    const rest = getRequestListener(app.fetch);
    const server = createServer(
      {
        requestTimeout: requestTimeoutMs,
        headersTimeout: requestTimeoutMs,
        connectionsCheckingInterval: Math.min(1000, requestTimeoutMs),
      },
      (request, response) =>
        request.url?.startsWith(WEBHOOKS) ? receive(request, response) : rest(request, response),
    );
    server.on("checkContinue", (request, response) => server.emit("request", request, response));
    server.on("clientError", answerClientError);

    await listen(server, settings);
    const url = addressOf(server);
    const publicUrl = (settings.publicUrl ?? url).replace(/\/$/, "");
    const stopSweeping = startSweeper({ store, retention: retentionOf(settings), metrics, log });

    return {
      url,
      publicUrl,
      store,
      unsigned,
      adminToken,
      async stop() {
        if (stopping) return;
        stopping = true;
        stopSweeping();
        await closeServer(server, stopTimeoutMs);
        await commit.drain();
        await store.close();
      },
    };
  }
}

const STORAGE: Record<Store["backend"], string> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  "durable-object": "Durable Objects",
};

/** Requests that are no HTTP, or took too long to arrive, get a problem document too. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy();
  const [status, code, title, detail] =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? ([
          408,
          "request_timeout",
          "Request Timeout",
          "The request took too long to arrive.",
        ] as const)
      : error.code === "HPE_HEADER_OVERFLOW"
        ? ([
            431,
            "headers_too_large",
            "Request Header Fields Too Large",
            "The headers are larger than 16 KiB.",
          ] as const)
        : ([400, "invalid_http", "Bad Request", "This is not a valid HTTP request."] as const);
  const body = JSON.stringify(problem(status, code, title, detail));
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function listen(server: Server, { host, port }: Settings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const fix: Record<string, string> = {
        EADDRINUSE: `Port ${port} on ${host} is taken. Stop what runs there, or choose another with --port.`,
        EACCES: `Port ${port} needs more rights. Choose one above 1023 with --port.`,
        EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another with --host.`,
        ENOTFOUND: `${host} is not an address of this machine. Choose another with --host.`,
      };
      reject(new SettingsError(fix[error.code ?? ""] ?? error.message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function closeServer(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
