/** The authorization server, with which MCP clients get tokens. */
import type { Kernel, Part } from "../part.ts";
import type { TokensPart } from "../tokens/part.ts";
import { oauthGrantRoutes } from "./oauth-grant-routes.ts";
import { oauthPages } from "./oauth-paths.ts";
import { addOAuthRoutes } from "./oauth-routes.ts";

export const createOAuthPart = (
  { store, ports, settings, seal, newId }: Kernel,
  { tokens, authorizeRequest }: TokensPart,
): Part => ({
  routes: oauthGrantRoutes({ store, tokens, now: ports.timers.now }),
  pages: oauthPages,
  mount(app) {
    addOAuthRoutes(app, {
      authorizeRequest,
      tokens,
      store,
      seal,
      fetch: ports.guardedWebFetch,
      timers: ports.timers,
      newId,
      tenancy: settings.tenancy,
      publicUrl: settings.publicUrl,
      proxy: settings.proxy,
      rateLimit: settings.rateLimit,
    });
  },
});
