/** The agents' side of the hub, joined: one inbox and one feed behind tools, routes and streams. */

import { createAuthorizeRequest } from "../../api/authorize-request.ts";
import { limitConcurrency } from "../../api/concurrency-limit.ts";
import { createHostCheck } from "../../api/host-check.ts";
import { addInboxRoutes } from "../../api/inbox-routes.ts";
import type { ToolCalls } from "../../apps/call-tool.ts";
import type { DeliveryOutcome } from "../../deliver/delivery.ts";
import { createInbox } from "../../inbox/inbox.ts";
import type { Seal } from "../../lib/seal.ts";
import type { AppServers } from "../../mcp/app-server.ts";
import { trackUnread } from "../../mcp/back-pressure.ts";
import type { InboxServer } from "../../mcp/inbox-server.ts";
import { createWaits } from "../../mcp/wait-for-event.ts";
import type { Triggers } from "../../runs/explain.ts";
import type { Store } from "../../store/store.ts";
import { createFeed } from "../../stream/feed.ts";
import { createAuthorizer } from "../../tenants/authorizer.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import type { Settings } from "../settings.ts";
import { createEvents } from "./events.ts";
import { createLive } from "./live.ts";

export interface AgentsOptions {
  store: Store;
  settings: Settings;
  version: string;
  seal: Seal;
  triggers: Triggers;
  calls: ToolCalls;
  onDelivery: (outcome: DeliveryOutcome) => void;
  onError: (error: unknown) => void;
}

const DAY_MS = 24 * 3_600_000;

export function createAgents({
  store,
  settings,
  version,
  seal,
  triggers,
  calls,
  onDelivery,
  onError,
}: AgentsOptions) {
  const authorizer = createAuthorizer({
    store,
    now: Date.now,
    everyTenant: settings.tenancy === "single" ? [LOCAL_TENANT] : undefined,
    onError,
  });
  const inbox = createInbox({ store, now: Date.now });
  const feed = createFeed(store, onError);
  const events =
    settings.eventsDraft === "on"
      ? createEvents({ store, feed, authorizer, seal, settings, onDelivery, onError })
      : undefined;
  const waits = createWaits({ inbox, feed, authorizer });
  const { publicUrl } = settings;
  const checkHost = createHostCheck(settings);
  const authorizeRequest = createAuthorizeRequest({ authorizer, checkHost, publicUrl });
  const live = createLive({ authorizeRequest, authorizer, store, feed, onError });

  // The MCP SDK is the largest thing that we load: a hub that no agent has asked yet does without.
  let loading: Promise<InboxServer> | undefined;
  const load = () => {
    loading ??= import("../../mcp/inbox-server.ts").then(({ createInboxServer }) =>
      createInboxServer({
        inbox,
        waits,
        triggers,
        store,
        authorizer,
        events: events?.context,
        version,
        onError,
      }),
    );
    return loading;
  };
  const mcp: InboxServer = {
    async serve(request, access, reserveBytes) {
      const server = await load();
      return trackUnread(access, await server.serve(request, access, reserveBytes));
    },
    close: async () => (await loading)?.close(),
  };
  let loadingApps: Promise<AppServers> | undefined;
  const apps: AppServers = {
    async serve(...asked) {
      loadingApps ??= import("../../mcp/app-server.ts").then(({ createAppServers }) =>
        createAppServers({
          store,
          calls,
          authorizer,
          version,
          keepRunsMs: Math.floor(settings.keepRunsDays * DAY_MS),
          onError,
        }),
      );
      return (await loadingApps).serve(...asked);
    },
    close: async () => (await loadingApps)?.close(),
  };

  return {
    live,
    authorizeRequest,
    authorizer,
    /** What is added to `app` afterwards is limited as these are. */
    addRoutes(app: Parameters<typeof addInboxRoutes>[0]) {
      app.use(
        limitConcurrency({
          yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
        }),
      );
      addInboxRoutes(app, { authorizeRequest, checkHost, publicUrl, inbox, mcp, apps });
    },
    /** From now on webhooks go out. */
    start: () => events?.start(),
    async close() {
      // First: from then on a connection that ends is no caller who has left.
      await apps.close();
      live.close();
      await Promise.all([waits.close(), events?.close()]);
      feed.close();
      await mcp.close();
    },
  };
}
