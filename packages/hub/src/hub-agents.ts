/** Creates the interfaces for agents: MCP servers, live streams and outbound webhooks. */
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { type Automations, createAutomations } from "./automations/automations.ts";
import { commandRefusal } from "./connections/command.ts";
import { CHECK_WAIT_MS, createConnectionEditor } from "./connections/connection-editor.ts";
import { createDeliverer } from "./events/deliveries/deliverer.ts";
import { createPostWebhook } from "./events/deliveries/post-webhook.ts";
import type { Inbox } from "./events/inbox/inbox.ts";
import { createWaits } from "./events/inbox/wait-for-event.ts";
import { createFeed, type Feed } from "./events/live/feed.ts";
import { createLiveStreams } from "./events/live/live-streams.ts";
import type { EventsContext } from "./events/mcp-events/context.ts";
import { createEventStreams } from "./events/mcp-events/stream.ts";
import { createSubscriber } from "./events/mcp-events/subscribe.ts";
import type { ToolCalls } from "./flows/editing/call-tool.ts";
import { createFlows } from "./flows/editing/flows.ts";
import type { Explainer } from "./flows/matching/explain.ts";
import type { AppServers } from "./flows/tools/app-server.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import { createAuthorizeRequest } from "./kernel/access/authorize-request.ts";
import { createAuthorizer } from "./kernel/access/authorizer.ts";
import type { TokenLookup } from "./kernel/access/granted-scopes.ts";
import { LOCAL_TENANT } from "./kernel/access/scopes.ts";
import { createStreamSlots, type StreamSlots } from "./kernel/access/stream-slots.ts";
import { createTenantChoice } from "./kernel/access/tenant-choice.ts";
import { createHostCheck } from "./kernel/http/host-check.ts";
import { once } from "./kernel/lib/once.ts";
import type { Seal } from "./kernel/lib/seal.ts";
import { trackUnreadBytes } from "./kernel/mcp/back-pressure.ts";
import type { Store } from "./kernel/store/store.ts";
import type { InboxServer } from "./mcp/inbox-server.ts";
import { createLastUse } from "./tokens/last-use.ts";

export interface HubAgentsOptions {
  store: Store;
  tokens: TokenLookup;
  ports: HostPorts;
  settings: HubSettings;
  seal: Seal;
  inbox: Inbox;
  explainer: Explainer;
  calls: ToolCalls;
  newId: () => string;
  onError: (error: unknown) => void;
}

export function createHubAgents(options: HubAgentsOptions) {
  const { store, ports, settings, inbox, explainer, calls, onError } = options;
  const { timers } = ports;
  const { version, keepRunsMs, publicUrl } = settings;
  const describeTenantChoice = createTenantChoice(store);
  const authorizer = createAuthorizer({
    store: options.tokens,
    now: timers.now,
    monotonic: timers.monotonic,
    // The tenants of a token for `*`. With many tenants, each request must name one.
    everyTenant: settings.tenancy === "single" ? [LOCAL_TENANT] : undefined,
    describeTenantChoice,
    onUsed: createLastUse(store, timers, onError),
    onError,
  });
  store.subscribe((notice) => {
    if (notice.topic === "tenant_deleted") authorizer.endTenant(notice.tenant);
  });
  const checkHost = createHostCheck(settings);
  const authorizeRequest = createAuthorizeRequest({ authorizer, checkHost, publicUrl });
  const feed = createFeed(store, onError);
  const streamSlots = createStreamSlots({ authorizer, max: settings.maxStreams });
  const events = settings.eventsDraft ? createEventsDraft(options, feed, streamSlots) : undefined;
  const waits = createWaits({ inbox, feed, authorizer });
  const live = createLiveStreams({
    authorizeRequest,
    recheck: authorizer.recheck,
    streamSlots,
    store,
    feed,
    followRun: calls.follow,
    timers,
    onError,
  });

  // The MCP SDK is a large dependency. It is loaded on the first MCP request, so that
  // an idle hub uses less memory.
  const loadInboxServer = once(async () => {
    const { createInboxServer } = await import("./mcp/inbox-server.ts");
    const { automationTools } = await import("./automations/automation-tools.ts");
    const { automationRunTools } = await import("./automations/automation-run-tools.ts");
    const automations = createHubAutomations(options);
    const context = events?.context;
    return createInboxServer({
      inbox,
      waits,
      explainer,
      moreTools: [...automationTools(automations), ...automationRunTools(automations)],
      store,
      authorizer,
      describeTenantChoice,
      events: context,
      version,
      limits: settings.limits,
      onError,
    });
  });
  const inboxServer: InboxServer = {
    async serve(request, access, reserveBytes) {
      const server = await loadInboxServer();
      return trackUnreadBytes(access, await server.serve(request, access, reserveBytes));
    },
    close: async () => (await loadInboxServer.loaded)?.close(),
  };
  const loadAppServers = once(async () => {
    const { createAppServers } = await import("./flows/tools/app-server.ts");
    return createAppServers({
      store,
      calls,
      authorizer,
      version,
      limits: settings.limits,
      // MCP requires an integer for the `ttl` of a task.
      keepRunsMs: Math.floor(keepRunsMs),
      onError,
    });
  });
  const appServers: AppServers = {
    serve: async (...request) => (await loadAppServers()).serve(...request),
    close: async () => (await loadAppServers.loaded)?.close(),
  };

  return {
    streamSlots,
    authorizeRequest,
    checkHost,
    inbox,
    inboxServer,
    appServers,
    live,
    /** Starts the delivery of outbound webhooks. */
    start: () => events?.start(),
    async close() {
      // The app servers close first: a client that disconnects afterwards no longer cancels its runs,
      // so that other processes can continue them.
      await appServers.close();
      live.close();
      await Promise.all([waits.close(), events?.close()]);
      feed.close();
      await inboxServer.close();
    },
  };
}

function createHubAutomations(options: HubAgentsOptions): Automations {
  const { store, ports, seal, calls, explainer, newId } = options;
  const { timers, evaluate } = ports;
  return createAutomations({
    store,
    flows: createFlows({ store, registry: nodeTypes, evaluate, newId, now: timers.now }),
    calls,
    explainer,
    connections: createConnectionEditor({
      store,
      seal,
      timers,
      commandRefusal: commandRefusal(ports.openCommand),
      waitMs: CHECK_WAIT_MS,
    }),
    registry: nodeTypes,
    newId,
    timers,
  });
}

/** Creates the parts of the MCP Events draft: the context of its methods, and the deliverer of its webhooks. */
function createEventsDraft(
  { store, tokens, ports, settings, seal, onError }: HubAgentsOptions,
  feed: Feed,
  streamSlots: StreamSlots,
) {
  const { timers, guardedFetch, makeHmacKey, metrics } = ports;
  const { now, after } = timers;
  const { allowHttp } = settings;
  const post = createPostWebhook({ fetch: guardedFetch, now, allowHttp, makeHmacKey });
  const deliverer = createDeliverer({
    store,
    tokens,
    feed,
    post,
    unseal: seal.unseal,
    by: crypto.randomUUID(),
    now,
    monotonic: timers.monotonic,
    random: Math.random,
    after,
    // `pollMs` is infinite only if no other process uses the store.
    isOnlyProcess: timers.pollMs === Number.POSITIVE_INFINITY,
    onOutcome: metrics.countDelivery,
    onError,
  });
  const streams = createEventStreams();
  const context: EventsContext = {
    store,
    feed,
    streamSlots,
    now,
    streams,
    subscriber: createSubscriber({
      store,
      post,
      seal: seal.seal,
      now,
      allowHttp,
      onChange: deliverer.wake,
    }),
    onError,
  };
  return {
    context,
    start: deliverer.wake,
    async close() {
      await Promise.all([streams.close(), deliverer.close()]);
    },
  };
}
