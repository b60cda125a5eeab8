/** Creates all HTTP routes of the hub, except those of webhooks, callbacks and live streams. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { addClientMetadataRoute } from "./connections/authorization-routes.ts";
import { createAuthorizations } from "./connections/authorizations.ts";
import { commandRefusal } from "./connections/command.ts";
import { CHECK_WAIT_MS } from "./connections/connection-editor.ts";
import type { Connections } from "./connections/connections.ts";
import { describedRoutes } from "./described-routes.ts";
import type { RejectionCounts } from "./events/admit/rejection-counts.ts";
import type { SendSample } from "./events/admit/send-sample.ts";
import type { SendTestEvent } from "./events/callback/send-test-event.ts";
import { sampleRoutes } from "./events/endpoints/sample-routes.ts";
import { sourceKindRoutes } from "./events/endpoints/source-kind-routes.ts";
import { testEventRoutes } from "./events/endpoints/test-event-routes.ts";
import { eventRoutes } from "./events/inbox/event-routes.ts";
import { addInboxRoutes } from "./events/inbox/inbox-routes.ts";
import type { ToolCalls } from "./flows/editing/call-tool.ts";
import type { DraftRuns } from "./flows/editing/draft-runs.ts";
import { parameterSchemas } from "./flows/editing/node-type-routes.ts";
import { triggerRoutes } from "./flows/editing/trigger-routes.ts";
import type { Explainer } from "./flows/matching/explain.ts";
import { queueRoutes } from "./flows/runs/queue-routes.ts";
import { runRoutes } from "./flows/runs/run-routes.ts";
import type { WorkerLoad } from "./flows/runs/worker-load.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import type { createHubAgents } from "./hub-agents.ts";
import { createHubRevocations } from "./hub-connections.ts";
import type { HubPeople } from "./hub-people.ts";
import type { TokenLookup } from "./kernel/access/granted-scopes.ts";
import { avatarOrigins } from "./kernel/http/avatars.ts";
import { limitConcurrency } from "./kernel/http/concurrency-limit.ts";
import { type GetHubInfo, hubInfoRoute } from "./kernel/http/hub-info.ts";
import { addOpenApiRoute } from "./kernel/http/openapi.ts";
import { mountRoutes, type Route } from "./kernel/http/route.ts";
import type { Seal } from "./kernel/lib/seal.ts";
import type { Store } from "./kernel/store/store.ts";
import { managementRoutes } from "./management-routes.ts";
import { oauthGrantRoutes } from "./oauth/oauth-grant-routes.ts";
import { addOAuthRoutes } from "./oauth/oauth-routes.ts";
import { createApp } from "./operations/app.ts";
import { createAuthorizeMetrics } from "./operations/authorize-metrics.ts";
import { settingsRoutes } from "./operations/settings-routes.ts";
import { statsRoutes } from "./operations/stats-routes.ts";
import { storageRoutes } from "./operations/storage-routes.ts";
import { addGithubSignIn, signInMethodsRoute } from "./people/github-sign-in.ts";
import { redeliveryRoutes } from "./redelivery/redelivery-routes.ts";
import { createTenantDeletions } from "./tenants/tenant-deletions.ts";
import { addSignInRoute, sessionRoutes, signInRoute } from "./tokens/session-routes.ts";
import type { Sessions } from "./tokens/sessions.ts";
import type { HomePage } from "./web-ui/home.ts";

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
