/** Connections to MCP servers: calls of their tools, and subscriptions to their triggers. */
import { TRIGGER_CALLBACK } from "../events/admit/receive-request.ts";
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import type { Kernel, Part } from "../part.ts";
import { createAnnouncements } from "./announcements.ts";
import { addClientMetadataRoute, authorizationRoutes } from "./authorization-routes.ts";
import { createAuthorizations } from "./authorizations.ts";
import { commandRefusal } from "./command.ts";
import {
  CHECK_WAIT_MS,
  type ConnectionEditor,
  createConnectionEditor,
} from "./connection-editor.ts";
import { connectionRoutes, createViewDetails } from "./connection-routes.ts";
import type { Connections } from "./connections.ts";
import { createConnections } from "./create-connections.ts";
import { unsealCredentials } from "./credentials.ts";
import { createIdentity } from "./identity.ts";
import { createKeeper, type Keeper, type KeeperOptions } from "./keeper.ts";
import type { OAuthTokens } from "./oauth-token.ts";
import { createRevokeRemoved } from "./revoke-removed.ts";
import { createCallbackTokenDerivation } from "./staged-tokens.ts";

export interface ConnectionsPart extends Part {
  connections: Connections;
  editor: ConnectionEditor;
}

/** The maximum number of connections whose OAuth tokens are cached. */
const MAX_CACHED_TOKENS = 10_000;

/** `append` stores the events that the hub polls from MCP servers. */
export function createConnectionsPart(
  kernel: Kernel,
  append: KeeperOptions["append"],
): ConnectionsPart {
  const { store, ports, settings, seal, newId, onError } = kernel;
  const { timers, log, guardedWebFetch: fetch } = ports;
  const connections = openConnections(kernel);
  // Revokes the OAuth tokens of deleted connections at their authorization servers.
  const revokeRemoved = createRevokeRemoved({ store, seal, fetch, timers, log });
  const editor = createConnectionEditor({
    store,
    seal,
    timers,
    commandRefusal: commandRefusal(ports.openCommand),
    waitMs: CHECK_WAIT_MS,
  });
  let keeper: Keeper | undefined;
  return {
    connections,
    editor,
    routes: [
      ...connectionRoutes({ store, editor, connections, revokeRemoved, now: timers.now }),
      ...authorizationRoutes({
        editor,
        authorizations: createAuthorizations({ store, seal, fetch, timers, log }),
        publicUrl: settings.publicUrl,
        viewDetails: createViewDetails(store),
      }),
    ],
    mount: (app) => addClientMetadataRoute(app, settings.publicUrl),
    /** The hub must be listening, because servers may now send callbacks. */
    start({ publicUrl }) {
      const { callbackTenant } = settings;
      keeper = createKeeper({
        store,
        connections,
        append,
        newId,
        deriveToken: createCallbackTokenDerivation(settings.sealKey),
        callbackUrl: `${publicUrl}${TRIGGER_CALLBACK}${callbackTenant === undefined ? "" : `?tenant=${encodeURIComponent(callbackTenant)}`}`,
        by: newId(),
        timers,
        leaseMs: settings.runLeaseMs,
        log,
        revokeRemoved,
        onError,
      });
    },
    stop: () => keeper?.close(),
    close: connections.close,
  };
}

/** The MCP SDK is loaded on the first call. */
function openConnections({
  store,
  ports,
  settings,
  seal,
  addresses,
  onError,
}: Kernel): Connections {
  const { timers } = ports;
  // Signs the tokens with which the hub identifies itself to MCP servers.
  const identity = createIdentity({
    sealKey: settings.sealKey,
    issuer: addresses.then(({ publicUrl }) => publicUrl),
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
      const { openClient } = await import("./open-client.ts");
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
