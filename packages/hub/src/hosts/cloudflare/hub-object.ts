/** A Durable Object that runs the hub. Its subclasses differ in how they compose the store. */

import {
  DurableObject,
  type DurableObjectState,
  type HibernatableSocket,
} from "cloudflare:workers";
import script from "signalbox:isolated-programs";
import engine from "@jitl/quickjs-wasmfile-release-sync/wasm";
import { isIngestPath, toIncomingRequest } from "../../events/admit/receive-request.ts";
import { eventJobs } from "../../events/jobs.ts";
import { isLivePath, isSocketPath } from "../../events/live/live-streams.ts";
import { createFlowJobs } from "../../flows/jobs.ts";
import { createRunIsolated } from "../../flows/sandbox/run-isolated.ts";
import type { HostPorts } from "../../host-ports.ts";
import { createHub } from "../../hub.ts";
import { openDurableObject } from "../../kernel/backends/durable-object.ts";
import { toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { createInProcessJobs } from "../../kernel/jobs/run-jobs.ts";
import { sha256Hex, webHmacKey } from "../../kernel/lib/hmac.ts";
import { type Store, storeDefinition } from "../../store.ts";
import { ensureAdminToken } from "../../tokens/tokens.ts";
import { createAlarmTimers } from "./alarm-timers.ts";
import type { Bindings } from "./bindings.ts";
import { drainBody, keepAlive } from "./client-connection.ts";
import { renameEarlierTables } from "./earlier-tables.ts";
import { createGuardedFetch, createGuardedWebFetch } from "./guarded-fetch.ts";
import { createSockets, pathOf, serveSse } from "./live.ts";
import {
  createCommitSchedule,
  createConsoleLog,
  createMetrics,
  createReadWebFile,
} from "./ports.ts";
import { readWorkerSettings, workerHubSettings } from "./worker-settings.ts";

export abstract class HubObject extends DurableObject<Bindings> {
  #hub!: ObjectHub;
  /** The store on the tables of this object. */
  protected own!: Store;

  constructor(state: DurableObjectState, env: Bindings) {
    super(state, env);
    // If this rejects, Cloudflare resets the object, and the next request creates it again.
    void state.blockConcurrencyWhile(async () => {
      await undefined; // waits until the constructor of the subclass has initialized its fields
      renameEarlierTables(state.storage);
      this.own = openDurableObject(storeDefinition, state.storage);
      await this.prepare();
      const { store, ...role } = this.compose(this.own);
      this.#hub = await startObjectHub({ state, env, store, ...role });
    });
  }

  /** Called before the hub starts. A subclass may replace verbs of `own` here. */
  protected async prepare(): Promise<void> {}

  /** Composes the hub's store from `own` and the stores of other objects, and returns this object's role. */
  protected abstract compose(own: Store): {
    store: Store;
    /** Whether the tokens and endpoints of the hub are in this object. */
    hasRegistry: boolean;
    /** Undefined if the object serves several tenants. */
    tenant?: string | undefined;
  };

  /** The part of the object's name after the prefix of its class. */
  protected nameAfter(prefix: string): string {
    return (this.ctx.id.name ?? "").slice(prefix.length);
  }

  /** Runs a verb on the tables of this object, for another object. */
  async callStore(verb: string, args: unknown[]): Promise<unknown> {
    const verbs = this.own as unknown as Record<string, (...args: unknown[]) => unknown>;
    return verbs[verb]?.(...args);
  }

  fetch(request: Request): Promise<Response> {
    return this.#hub.fetch(request);
  }

  alarm(): void {
    this.#hub.onAlarm();
  }

  webSocketMessage(socket: HibernatableSocket, data: string | ArrayBuffer): void {
    this.#hub.sockets.onMessage(socket, data);
  }

  webSocketClose(socket: HibernatableSocket): void {
    this.#hub.sockets.onClose(socket);
  }

  webSocketError(socket: HibernatableSocket): void {
    this.#hub.sockets.onClose(socket);
  }
}

interface ObjectHubOptions {
  state: DurableObjectState;
  env: Bindings;
  store: Store;
  hasRegistry: boolean;
  tenant?: string | undefined;
}

/** The objects of an isolate share an instance, because it takes time to load. */
const runIsolated = createRunIsolated(engine, script);

/** Set by Cloudflare; a client cannot set it. */
const CLIENT_ADDRESS = "cf-connecting-ip";

/** Runs the hub inside a Durable Object: creates its host ports, and passes requests and alarms to it. */
async function startObjectHub(options: ObjectHubOptions) {
  const { state, env, store, hasRegistry, tenant } = options;
  const settings = readWorkerSettings(env);
  const { allowPrivate, publicUrl = "" } = settings;
  const timers = await createAlarmTimers(state.storage);
  wakeForWork(store, timers.wakeAt);
  const hubSettings = workerHubSettings(settings, { tenant, hasRegistry });
  if (hasRegistry) await ensureAdminToken(store, hubSettings.adminToken, timers.now());
  const log = createConsoleLog(settings.logLevel);
  const onError = (error: unknown) => log.error({ err: error }, "a request failed");
  // workerd's `fetch` must not be called as a method of another object, such as `ports`.
  const webFetch: typeof fetch = (...request) => fetch(...request);
  const commits = createCommitSchedule(timers.defer);
  const ports: HostPorts = {
    fetch: webFetch,
    guardedFetch: createGuardedFetch({ allowPrivate, fetch: webFetch }),
    guardedWebFetch: createGuardedWebFetch({
      allowPrivate,
      allowHttp: hubSettings.allowHttp,
      fetch: webFetch,
    }),
    openCommand: "impossible",
    readWebFile: createReadWebFile(env.ASSETS),
    runJob: createInProcessJobs([...eventJobs, ...createFlowJobs({ engine, runIsolated })]),
    runsJobsInBackground: false,
    makeHmacKey: webHmacKey,
    sha256Hex,
    timers,
    wakeAt: timers.wakeAt,
    deferCommit: commits.defer,
    log,
    metrics: createMetrics(),
  };
  const hub = await createHub({ store, ports, settings: hubSettings });
  await hub.start(publicUrl);
  const sockets = createSockets({ state, live: hub.live, store, timers, onError });

  async function receive(request: Request): Promise<Response> {
    const address = request.headers.get(CLIENT_ADDRESS) ?? "";
    // `hub.receive` reads the source and the key from the URL.
    const incoming = toIncomingRequest(
      request,
      { source: "", key: undefined, address },
      hub.bodyBudget,
    );
    try {
      const outcome = await hub.receive({ ...incoming, url: pathOf(request.url), peer: address });
      const { status, headers, body } = toAnswer(outcome);
      return new Response(body, { status, headers });
    } finally {
      incoming.release();
    }
  }

  async function respond(request: Request): Promise<Response> {
    const path = pathOf(request.url);
    if (isIngestPath(path)) return commits.receive(() => receive(request));
    if (isSocketPath(path) && request.headers.get("upgrade")?.toLowerCase() === "websocket")
      return sockets.accept(request);
    if (isLivePath(path)) return serveSse(hub.live, request, onError);
    const peer = request.headers.get(CLIENT_ADDRESS) ?? "";
    return keepAlive(await hub.app.fetch(request, { peer }), request.signal);
  }

  return {
    async fetch(request: Request): Promise<Response> {
      const response = await respond(request);
      await drainBody(request);
      return response;
    },
    onAlarm: timers.onAlarm,
    sockets,
  };
}

type ObjectHub = Awaited<ReturnType<typeof startObjectHub>>;

/**
 * Sets the alarm in the transaction that creates due work. If the object crashes before it does the
 * work, the alarm starts the object again.
 */
const wakeForWork = (store: Pick<Store, "subscribe">, wakeAt: (time: number) => void) =>
  store.subscribe((notice) => {
    if ("due" in notice) wakeAt(Math.max(notice.due, Date.now() + RESTART_MS));
  });

/** A running object does the work that is due now without an alarm, so the alarm need not be earlier. */
const RESTART_MS = 1_000;
