/** Creates the connections to MCP servers, and their keeper. The MCP SDK is loaded on the first call. */
import { createAnnouncements } from "./connections/announcements.ts";
import { createCallbackTokenDerivation } from "./connections/callback-tokens.ts";
import type { Connections } from "./connections/connections.ts";
import { createConnections } from "./connections/create-connections.ts";
import { unsealCredentials } from "./connections/credentials.ts";
import { createIdentity } from "./connections/identity.ts";
import { createKeeper, type Keeper } from "./connections/keeper.ts";
import type { OAuthTokens } from "./connections/oauth-token.ts";
import { createRevokeRemoved, type RevokeRemoved } from "./connections/revoke-removed.ts";
import { TRIGGER_CALLBACK } from "./events/admit/receive-request.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import { BoundedMap } from "./kernel/lib/bounded-map.ts";
import type { Seal } from "./kernel/lib/seal.ts";
import type { Store } from "./kernel/store/store.ts";
import type { Append } from "./pipeline.ts";

export interface HubConnectionsOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
  seal: Seal;
  /** Resolves with the public URL when the hub has started. */
  publicUrl: Promise<string>;
  onError: (error: unknown) => void;
}

/** The maximum number of connections whose OAuth tokens are cached. */
const MAX_CACHED_TOKENS = 10_000;

export function createHubConnections(options: HubConnectionsOptions): Connections {
  const { store, ports, settings, seal, publicUrl, onError } = options;
  const { timers } = ports;
  // Signs the tokens with which the hub identifies itself to MCP servers.
  const identity = createIdentity({
    sealKey: settings.sealKey,
    issuer: publicUrl,
    now: timers.now,
  });
  const tokens = new BoundedMap<string, OAuthTokens>(MAX_CACHED_TOKENS);
  // When a server announces changed tools, or may have restarted, its connection becomes due for a check.
  const onAnnouncement = createAnnouncements({
    now: timers.now,
    touch: ({ tenant, id }, at) => void store.touchConnection(tenant, id, at).catch(onError),
  });
  return createConnections({
    timers,
    random: Math.random,
    onSuspectedRestart: onAnnouncement,
    async open(connection, signal) {
      const { openClient } = await import("./connections/open-client.ts");
      return openClient({
        connection,
        credentials: await unsealCredentials(connection.sealed, seal),
        fetch: ports.guardedWebFetch,
        openCommand: ports.openCommand,
        identity,
        tokens,
        // Where the OAuth tokens are stored with which the hub calls the server.
        grants: { store, seal },
        version: settings.version,
        timers,
        random: Math.random,
        signal,
        onListChanged: () => onAnnouncement(connection),
      });
    },
  });
}

export interface KeepConnectionsOptions
  extends Pick<HubConnectionsOptions, "store" | "ports" | "settings" | "seal"> {
  connections: Connections;
  /** Stores the events that the keeper polls from MCP servers. */
  append: Append;
  publicUrl: string;
  newId: () => string;
  onError: (error: unknown) => void;
}

/** Starts the keeper. The hub must be listening, because servers may now send callbacks. */
export function keepConnections(options: KeepConnectionsOptions): Keeper {
  const { store, ports, settings, seal, connections, append, publicUrl, newId, onError } = options;
  const { callbackTenant } = settings;
  return createKeeper({
    store,
    connections,
    append,
    newId,
    deriveToken: createCallbackTokenDerivation(settings.sealKey),
    callbackUrl: `${publicUrl}${TRIGGER_CALLBACK}${callbackTenant === undefined ? "" : `?tenant=${encodeURIComponent(callbackTenant)}`}`,
    by: newId(),
    timers: ports.timers,
    leaseMs: settings.runLeaseMs,
    log: ports.log,
    revokeRemoved: createHubRevocations({ store, ports, seal }),
    onError,
  });
}

/** Revokes the OAuth tokens of deleted connections at their authorization servers. */
export const createHubRevocations = ({
  store,
  ports,
  seal,
}: Pick<HubConnectionsOptions, "store" | "ports" | "seal">): RevokeRemoved =>
  createRevokeRemoved({
    store,
    seal,
    fetch: ports.guardedWebFetch,
    timers: ports.timers,
    log: ports.log,
  });
