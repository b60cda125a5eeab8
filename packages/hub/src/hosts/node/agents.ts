/** The agents' side of the hub, joined: one inbox and one feed behind tools, routes and streams. */
import { addInboxRoutes } from "../../api/inbox-routes.ts";
import { createIsOurHost } from "../../api/our-host.ts";
import { createInbox } from "../../inbox/inbox.ts";
import type { InboxServer } from "../../mcp/inbox-server.ts";
import type { Store } from "../../store/store.ts";
import { createFeed } from "../../stream/feed.ts";
import { createAccesses } from "../../tenants/access.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import type { Settings } from "../settings.ts";
import { createLive } from "./live.ts";

export interface AgentsOptions {
  store: Store;
  settings: Settings;
  version: string;
  onError: (error: unknown) => void;
}

export function createAgents({ store, settings, version, onError }: AgentsOptions) {
  const accesses = createAccesses({
    store,
    now: Date.now,
    everyTenant: settings.tenancy === "single" ? [LOCAL_TENANT] : undefined,
  });
  const inbox = createInbox({ store, now: Date.now });
  const feed = createFeed(store, onError);
  const isOurHost = createIsOurHost(settings);
  const live = createLive({ feed, accesses, isOurHost, onError });

  // The MCP SDK is the largest thing that we load: a hub that no agent has asked yet does without.
  let loading: Promise<InboxServer> | undefined;
  const load = () => {
    loading ??= import("../../mcp/inbox-server.ts").then(({ createInboxServer }) =>
      createInboxServer({ inbox, feed, version, onError }),
    );
    return loading;
  };
  const mcp: InboxServer = {
    serve: async (...call) => (await load()).serve(...call),
    close: async () => (await loading)?.close(),
  };

  return {
    live,
    addRoutes: (app: Parameters<typeof addInboxRoutes>[0]) =>
      addInboxRoutes(app, { inbox, mcp, accesses, isOurHost }),
    async close() {
      live.close();
      feed.close();
      await mcp.close();
    },
  };
}
