/** The OAuth authorization server for MCP clients: metadata, endpoints and pages. */
import type { Hono } from "hono";
import type { TrustedProxy } from "../ingest/addresses.ts";
import { createRateLimit } from "../ingest/rate-limit.ts";
import type { Timers } from "../lib/timers.ts";
import type { WebFetch } from "../lib/web-fetch.ts";
import type { Store } from "../store/store.ts";
import { createClients } from "../tenants/oauth/clients.ts";
import { createTokenEndpoint } from "../tenants/oauth/token-endpoint.ts";
import { addOAuthEndpoints } from "./oauth-endpoints.ts";
import { addOAuthMetadata } from "./oauth-metadata.ts";
import { addOAuthPages, type OAuthPages } from "./oauth-pages.ts";
import { addressOf } from "./peer-address.ts";

/** A bridge polls every two seconds; a person opens few pages. */
const REQUESTS_PER_SECOND = 10;

export interface OAuthRoutes
  extends Pick<OAuthPages, "authorizeRequest" | "tokens" | "seal" | "newId" | "publicUrl"> {
  store: Store;
  /** Fetches metadata documents of clients; must refuse private addresses. */
  fetch: WebFetch;
  timers: Timers;
  proxy: TrustedProxy | undefined;
  /** 0: no limit. */
  rateLimit: number;
}

export function addOAuthRoutes(app: Hono, options: OAuthRoutes): void {
  const { store, fetch, timers, newId, publicUrl, proxy } = options;
  const { now } = timers;
  const limit = createRateLimit({
    failuresPerSecond: options.rateLimit === 0 ? 0 : REQUESTS_PER_SECOND,
    now: timers.monotonic,
  });
  app.use("/oauth/*", async (c, next) => {
    const address = addressOf(c, proxy);
    if (limit.admit(address) !== "admitted")
      return Response.json(
        { error: "slow_down", error_description: "Too many requests from this address." },
        { status: 429, headers: { "retry-after": "1" } },
      );
    limit.fail(address);
    return next();
  });
  addOAuthMetadata(app, publicUrl);
  const clients = createClients({ store, fetch, timers, newId });
  const tokens = createTokenEndpoint({ store, newId, now });
  addOAuthEndpoints(app, { clients, tokens, store, newId, now, publicUrl });
  addOAuthPages(app, { ...options, clients, now });
}
