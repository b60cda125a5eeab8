/** All HTTP routes of the hub, except webhooks and live streams. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { createApp } from "./api/app.ts";
import { appRoutes } from "./api/app-routes.ts";
import { limitConcurrency } from "./api/concurrency-limit.ts";
import { eventRoutes } from "./api/event-routes.ts";
import { flowRoutes } from "./api/flow-routes.ts";
import type { HomePage } from "./api/home.ts";
import { addInboxRoutes } from "./api/inbox-routes.ts";
import { nodeTypeRoutes, parameterSchemas } from "./api/node-type-routes.ts";
import { openApiRoute } from "./api/openapi.ts";
import { mountRoutes, type Route } from "./api/route.ts";
import { runRoutes } from "./api/run-routes.ts";
import { secretRoutes } from "./api/secret-routes.ts";
import { sourceRoutes } from "./api/source-routes.ts";
import { statsRoutes } from "./api/stats-routes.ts";
import { tokenRoutes } from "./api/token-routes.ts";
import type { ToolCalls } from "./apps/call-tool.ts";
import { createFlows } from "./apps/flows.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import type { createHubAgents } from "./hub-agents.ts";
import type { Seal } from "./lib/seal.ts";
import type { Triggers } from "./runs/explain.ts";
import type { Store } from "./store/store.ts";
import { createSources } from "./tenants/sources.ts";

export interface HubRoutesOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
  registry: NodeRegistry;
  seal: Seal;
  newId: () => string;
  agents: ReturnType<typeof createHubAgents>;
  calls: ToolCalls;
  triggers: Triggers;
  /** Aborted when the hub stops. */
  closing: AbortSignal;
  home: () => Promise<HomePage>;
  checkReady: () => Promise<void>;
  onError: (error: unknown) => void;
}

export function createHubRoutes(options: HubRoutesOptions) {
  const { ports, settings, registry, agents, closing } = options;
  const { defer } = ports.timers;
  const app = createApp({
    checkReady: options.checkReady,
    metrics: ports.metrics,
    isStopping: () => closing.aborted,
    home: options.home,
    onError: options.onError,
  });
  // The limit holds for every route that is added after it.
  app.use(limitConcurrency({ yieldToEventLoop: () => new Promise((resolve) => defer(resolve)) }));
  addInboxRoutes(app, {
    authorizeRequest: agents.authorizeRequest,
    checkHost: agents.checkHost,
    publicUrl: settings.publicUrl,
    inbox: agents.inbox,
    mcp: agents.inboxServer,
    apps: agents.appServers,
  });
  const routes = apiRoutes(options);
  const document = openApiRoute(routes, settings.version, parameterSchemas(registry));
  mountRoutes(app, [...routes, document], agents.authorizeRequest);
  return app;
}

function apiRoutes(options: HubRoutesOptions): Route[] {
  const { store, ports, settings, registry, seal, newId, agents, calls, triggers } = options;
  const { now } = ports.timers;
  return [
    ...appRoutes(store, now),
    ...flowRoutes({
      flows: createFlows({ store, registry, evaluate: ports.evaluate, newId, now }),
      store,
    }),
    ...runRoutes({ calls, store, now, authorizer: agents.authorizer, closing: options.closing }),
    ...secretRoutes(store, seal, now),
    ...nodeTypeRoutes(registry),
    ...eventRoutes(agents.inbox, triggers),
    ...tokenRoutes({ store, newId, now }),
    ...sourceRoutes({
      store,
      sources: createSources({ store, seal, newId, now }),
      publicUrl: settings.publicUrl,
    }),
    ...statsRoutes(store, now),
  ];
}
