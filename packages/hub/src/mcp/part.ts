/** The MCP servers: `/mcp`, to which parts add tools, and those of apps. */
import type { AppServers } from "../flows/tools/app-server.ts";
import { once } from "../kernel/lib/once.ts";
import { trackUnreadBytes } from "../kernel/mcp/back-pressure.ts";
import { loadOffers } from "../kernel/mcp/offer.ts";
import type { Kernel, Part } from "../part.ts";
import type { TokensPart } from "../tokens/part.ts";
import { addMcpRoutes } from "./mcp-routes.ts";

export interface McpPartOptions {
  apps: AppServers;
  /** The parts that add to `/mcp`. */
  offering: readonly Part[];
}

export function createMcpPart(
  { store, settings, onError }: Kernel,
  { authorizer, authorizeRequest, describeTenantChoice }: TokensPart,
  { apps, offering }: McpPartOptions,
): Part {
  // The MCP SDK is a large dependency. It is loaded on the first MCP request, so that
  // an idle hub uses less memory.
  const loadServer = once(async () => {
    const { createInboxServer } = await import("./inbox-server.ts");
    return createInboxServer({
      offers: await loadOffers(offering),
      store,
      authorizer,
      describeTenantChoice,
      version: settings.version,
      limits: settings.limits,
      onError,
    });
  });
  return {
    mount(app) {
      addMcpRoutes(app, {
        authorizeRequest,
        mcp: {
          async serve(request, access, reserveBytes) {
            const server = await loadServer();
            return trackUnreadBytes(access, await server.serve(request, access, reserveBytes));
          },
        },
        apps,
      });
    },
    stop: async () => (await loadServer.loaded)?.close(),
  };
}
