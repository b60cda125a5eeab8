/** Opens connections to MCP servers on the loopback address, as the hub does. */
import { onTestFinished } from "vitest";
import type { CommandSupport } from "../../packages/hub/src/connections/command.ts";
import type { ConnectionError } from "../../packages/hub/src/connections/connection-error.ts";
import type { CallOptions } from "../../packages/hub/src/connections/connections.ts";
import { createConnections } from "../../packages/hub/src/connections/create-connections.ts";
import {
  type Credentials,
  sealCredentials,
  unsealCredentials,
} from "../../packages/hub/src/connections/credentials.ts";
import { createIdentity } from "../../packages/hub/src/connections/identity.ts";
import type { Connection } from "../../packages/hub/src/connections/model.ts";
import type { OAuthTokens } from "../../packages/hub/src/connections/oauth-token.ts";
import { openClient } from "../../packages/hub/src/connections/open-client.ts";
import { createGuardedWebFetch } from "../../packages/hub/src/hosts/node/guarded-web-fetch.ts";
import { systemTimers } from "../../packages/hub/src/hosts/node/ports.ts";
import { BoundedMap } from "../../packages/hub/src/kernel/lib/bounded-map.ts";
import { createSeal } from "../../packages/hub/src/kernel/lib/seal.ts";
import type { Timers } from "../../packages/hub/src/kernel/lib/timers.ts";
import type { AllowPrivate } from "../../packages/hub/src/kernel/outbound/address-rules.ts";
import type { Store } from "../../packages/hub/src/store.ts";

const sealKey = new Uint8Array(32);
export const seal = createSeal(sealKey);

export interface OpenConnectionsOptions {
  timers?: Timers;
  allowPrivate?: AllowPrivate;
  openCommand?: CommandSupport;
  /** Required for connections that a person authorizes with OAuth. */
  store?: Store;
}

export function openConnections({
  timers = systemTimers,
  allowPrivate = ["127.0.0.1"],
  openCommand,
  store,
}: OpenConnectionsOptions = {}) {
  const fetch = createGuardedWebFetch({ allowPrivate, allowHttp: true });
  const identity = createIdentity({
    sealKey,
    issuer: Promise.resolve("https://hub.test"),
    now: Date.now,
  });
  const tokens = new BoundedMap<string, OAuthTokens>(100);
  const listChanges: string[] = [];
  const suspectedRestarts: string[] = [];
  let openedCount = 0;
  const random = () => 0.5;
  const connections = createConnections({
    timers,
    random,
    onSuspectedRestart: ({ id }) => suspectedRestarts.push(id),
    async open(connection, signal) {
      openedCount += 1;
      return openClient({
        connection,
        credentials: await unsealCredentials(connection.sealed, seal),
        fetch,
        openCommand,
        identity,
        tokens,
        grants: store && { store, seal },
        version: "1.2.3",
        timers,
        random,
        signal,
        onListChanged: () => listChanges.push(connection.id),
      });
    },
  });
  onTestFinished(() => connections.close());
  return { ...connections, listChanges, suspectedRestarts, openedCount: () => openedCount };
}

let createdCount = 0;

export async function newConnection(
  target: string | Connection["target"],
  credentials: Credentials = {},
): Promise<Connection> {
  createdCount += 1;
  return {
    id: `server-${createdCount}`,
    tenant: "local",
    name: "Server",
    target: typeof target === "string" ? { url: target } : target,
    ...(await sealCredentials(credentials, seal)),
    revision: 1,
    status: "unknown",
    error: null,
    checked_at: null,
    attempt: 0,
    tool_count: 0,
    trigger_count: 0,
    next_at: 0,
    deleted: false,
    created_at: 0,
    updated_at: 0,
  };
}

/** Options of a call with a timeout that suffices on a busy machine. */
export const callOptions = (options: Partial<CallOptions> = {}): CallOptions => ({
  signal: new AbortController().signal,
  timeoutMs: 60_000,
  ...options,
});

/** Returns the error with which a call fails. */
export async function catchError(call: Promise<unknown>): Promise<ConnectionError> {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error(`the call did not fail: ${JSON.stringify(outcome)}`);
}
