/** Creates all HTTP routes of the hub, except those of webhooks, callbacks and live streams. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { createApp } from "./api/app.ts";
import { addClientMetadataRoute } from "./api/authorization-routes.ts";
import { createAuthorizeMetrics } from "./api/authorize-metrics.ts";
import { avatarOrigins } from "./api/avatars.ts";
import { limitConcurrency } from "./api/concurrency-limit.ts";
import { describedRoutes } from "./api/described-routes.ts";
import { eventRoutes } from "./api/event-routes.ts";
import { addGithubSignIn, signInMethodsRoute } from "./api/github-sign-in.ts";
import type { HomePage } from "./api/home.ts";
import { type GetHubInfo, hubInfoRoute } from "./api/hub-info.ts";
import { addInboxRoutes } from "./api/inbox-routes.ts";
import { managementRoutes } from "./api/management-routes.ts";
import { parameterSchemas } from "./api/node-type-routes.ts";
import { oauthGrantRoutes } from "./api/oauth-grant-routes.ts";
import { addOAuthRoutes } from "./api/oauth-routes.ts";
import { addOpenApiRoute } from "./api/openapi.ts";
import { queueRoutes } from "./api/queue-routes.ts";
import { redeliveryRoutes } from "./api/redelivery-routes.ts";
import { mountRoutes, type Route } from "./api/route.ts";
import { runRoutes } from "./api/run-routes.ts";
import { sampleRoutes } from "./api/sample-routes.ts";
import { addSignInRoute, sessionRoutes, signInRoute } from "./api/session-routes.ts";
import { settingsRoutes } from "./api/settings-routes.ts";
import { sourceKindRoutes } from "./api/source-kind-routes.ts";
import { statsRoutes } from "./api/stats-routes.ts";
import { storageRoutes } from "./api/storage-routes.ts";
import { testEventRoutes } from "./api/test-event-routes.ts";
import { triggerRoutes } from "./api/trigger-routes.ts";
import type { ToolCalls } from "./apps/call-tool.ts";
import type { DraftRuns } from "./apps/draft-runs.ts";
import { createAuthorizations } from "./connections/authorizations.ts";
import { commandRefusal } from "./connections/command.ts";
import { CHECK_WAIT_MS } from "./connections/connection-editor.ts";
import type { Connections } from "./connections/connections.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import type { createHubAgents } from "./hub-agents.ts";
import { createHubRevocations } from "./hub-connections.ts";
import type { HubPeople } from "./hub-people.ts";
import type { SendTestEvent } from "./ingest/callback/send-test-event.ts";
import type { RejectionCounts } from "./ingest/rejection-counts.ts";
import type { SendSample } from "./ingest/send-sample.ts";
import type { Seal } from "./lib/seal.ts";
import type { Explainer } from "./runs/explain.ts";
import type { WorkerLoad } from "./runs/worker-load.ts";
import type { Store } from "./store/store.ts";
import type { TokenLookup } from "./tenants/local-token.ts";
import type { Sessions } from "./tenants/sessions.ts";
import { createTenantDeletions } from "./tenants/tenant-deletions.ts";

export interface HubRoutesOptions {
  store: Store;
  tokens: TokenLookup;
  ports: HostPorts;
  settings: HubSettings;
  registry: NodeRegistry;
  seal: Seal;
  newId: () => string;
  agents: ReturnType<typeof createHubAgents>;
  calls: ToolCalls;
  readLoad: () => WorkerLoad;
  explainer: Explainer;
  connections: Pick<Connections, "callTool">;
  /** Aborted when the hub stops. */
  closing: AbortSignal;
  home: (isLocal: boolean) => Promise<HomePage>;
  hubInfo: GetHubInfo;
  sessions: Sessions;
  /** Undefined if people cannot sign in with GitHub. */
  hubPeople: HubPeople | undefined;
  checkReady: () => Promise<void>;
  rejections: RejectionCounts;
  drafts: DraftRuns;
  sendSample: SendSample;
  sendTestEvent: SendTestEvent;
  /** Starts the check for webhooks that GitHub failed to deliver, if it is due. */
  wakeRedelivery: () => void;
  onError: (error: unknown) => void;
}

export function createHubRoutes(options: HubRoutesOptions) {
  const { ports, settings, registry, agents, closing } = options;
  const { defer } = ports.timers;
  const app = createApp({
    checkReady: options.checkReady,
    metrics: ports.metrics,
    authorizeMetrics: settings.metricsNeedToken
      ? createAuthorizeMetrics({
          authorizeRequest: agents.authorizeRequest,
          tokens: options.tokens,
          tenancy: settings.tenancy,
        })
      : undefined,
    checkHost: agents.checkHost,
    publicUrl: settings.publicUrl,
    // Pages of a local hub redirect to `settings.host`. If people sign in with GitHub they do not, because
    // the callback URL of the App may have another host name.
    pageHost: settings.isPublic || options.hubPeople ? undefined : settings.host,
    isStopping: () => closing.aborted,
    home: options.home,
    readWebFile: ports.readWebFile,
    imageOrigins: avatarOriginsOf(options),
    onError: options.onError,
  });
  // The limit applies to the routes that are added below.
  app.use(
    limitConcurrency({
      yieldToEventLoop: () => new Promise((resolve) => defer(resolve)),
      publicUrl: settings.publicUrl,
    }),
  );
  addInboxRoutes(app, {
    authorizeRequest: agents.authorizeRequest,
    inbox: agents.inbox,
    mcp: agents.inboxServer,
    apps: agents.appServers,
  });
  addOAuthRoutes(app, {
    authorizeRequest: agents.authorizeRequest,
    tokens: options.tokens,
    store: options.store,
    seal: options.seal,
    fetch: ports.guardedWebFetch,
    timers: ports.timers,
    newId: options.newId,
    tenancy: settings.tenancy,
    publicUrl: settings.publicUrl,
    proxy: settings.proxy,
    rateLimit: settings.rateLimit,
  });
  addSignInRoute(app, {
    sessions: options.sessions,
    checkHost: agents.checkHost,
    publicUrl: settings.publicUrl,
  });
  addGithubSignIn(app, {
    github: options.hubPeople?.github,
    people: options.hubPeople?.people,
    sessions: options.sessions,
    seal: options.seal,
    checkHost: agents.checkHost,
    publicUrl: settings.publicUrl,
    now: ports.timers.now,
    log: ports.log,
  });
  addClientMetadataRoute(app, settings.publicUrl);
  const routes = apiRoutes(options);
  mountRoutes(app, routes, agents.authorizeRequest, settings.limits);
  addOpenApiRoute(app, {
    routes: [...describedRoutes, signInRoute, signInMethodsRoute, ...routes],
    version: settings.version,
    schemas: parameterSchemas(registry),
    checkHost: agents.checkHost,
    publicUrl: settings.publicUrl,
  });
  return app;
}

const avatarOriginsOf = ({ hubPeople, settings }: HubRoutesOptions): string[] =>
  hubPeople ? avatarOrigins(settings.github.url) : [];

function apiRoutes(options: HubRoutesOptions): Route[] {
  const { store, ports, settings, registry, seal, newId, agents, calls, explainer } = options;
  const { now } = ports.timers;
  const { tenancy, publicUrl } = settings;
  return [
    ...managementRoutes({
      store,
      tokens: options.tokens,
      registry,
      evaluate: ports.evaluate,
      seal,
      newId,
      now,
      tenancy,
      publicUrl,
      tenantDefaults: settings,
      deletions: createTenantDeletions({
        store,
        timers: ports.timers,
        isStopped: () => options.closing.aborted,
        onError: options.onError,
      }),
      connections: {
        timers: ports.timers,
        commandRefusal: commandRefusal(ports.openCommand),
        waitMs: CHECK_WAIT_MS,
        // Calls tools of MCP servers; `calls` below calls tools of flows.
        calls: options.connections,
        authorizations: createAuthorizations({
          store,
          seal,
          fetch: ports.guardedWebFetch,
          timers: ports.timers,
          log: ports.log,
        }),
        revokeRemoved: createHubRevocations({ store, ports, seal }),
      },
    }),
    ...runRoutes({
      calls,
      drafts: options.drafts,
      store,
      now,
      streamSlots: agents.streamSlots,
      closing: options.closing,
    }),
    ...eventRoutes(agents.inbox, explainer),
    ...triggerRoutes(explainer),
    ...sampleRoutes(options.sendSample),
    ...testEventRoutes(options),
    ...sourceKindRoutes(options),
    ...redeliveryRoutes({
      store,
      tokens: options.tokens,
      isEnabled:
        settings.github.app !== undefined && settings.github.redeliverEveryMs !== undefined,
      wake: options.wakeRedelivery,
      now,
    }),
    ...settingsRoutes(settings.effectiveSettings ?? [], options.tokens),
    ...queueRoutes({
      store,
      now,
      readLoad: settings.tenancy === "single" ? options.readLoad : undefined,
    }),
    ...statsRoutes(store, now, settings.quota),
    ...storageRoutes(store, options.tokens),
    ...sessionRoutes({
      sessions: options.sessions,
      store,
      tokens: options.tokens,
      hubInfo: options.hubInfo,
      publicUrl,
      avatarOrigins: avatarOriginsOf(options),
      now,
    }),
    ...oauthGrantRoutes({ store, tokens: options.tokens, now }),
    hubInfoRoute(options.hubInfo),
  ];
}
