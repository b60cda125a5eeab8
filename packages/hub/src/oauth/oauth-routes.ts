/** The OAuth authorization server for MCP clients: metadata, endpoints and pages. */
import type { Hono } from "hono";
import { addressOf, type TrustedProxy } from "../kernel/http/addresses.ts";
import { createRateLimit } from "../kernel/http/rate-limit.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import type { Store } from "../store.ts";
import { createClients } from "./clients.ts";
import { addOAuthEndpoints } from "./oauth-endpoints.ts";
import { addOAuthMetadata } from "./oauth-metadata.ts";
import { addOAuthPages, type OAuthPages } from "./oauth-pages.ts";
import { createTokenEndpoint } from "./token-endpoint.ts";

/** Enough for bridges, which poll every two seconds, and for people, who open few pages. */
const REQUESTS_PER_SECOND = 10;
/** Each of these requests stores a row without the consent of a person. A client sends one per sign-in. */
const STORING_PATHS = ["/oauth/register", "/oauth/device_authorization"];
const STORED_PER_MINUTE = 10;

export interface OAuthRoutes
  extends Pick<
    OAuthPages,
    "authorizeRequest" | "tokens" | "tenancy" | "seal" | "newId" | "publicUrl"
  > {
  store: Store;
  /** Fetches metadata documents of clients; must reject private addresses. */
  fetch: WebFetch;
  timers: Timers;
  proxy: TrustedProxy | undefined;
  /** 0 = no limit. Otherwise the limits in this file apply. */
  rateLimit: number;
  maxUnusedClients?: number | undefined;
}

export function addOAuthRoutes(app: Hono, options: OAuthRoutes): void {
  const { store, fetch, timers, newId, publicUrl, proxy } = options;
  const { now } = timers;
  const limitRequests = (path: string, requests: number, seconds: number) => {
    const limit = createRateLimit({
      failuresPerWindow: options.rateLimit === 0 ? 0 : requests,
      windowMs: seconds * 1_000,
      now: timers.monotonic,
    });
    const error_description = `Too many requests from this address: the limit is ${requests} per ${seconds === 1 ? "second" : `${seconds} seconds`}. Try again later.`;
    app.use(path, async (c, next) => {
      const address = addressOf(c, proxy);
      if (limit.admit(address) !== "admitted")
        return Response.json(
          { error: "slow_down", error_description },
          { status: 429, headers: { "retry-after": String(seconds) } },
        );
      limit.fail(address); // counts every request: the limit is that of failures
      return next();
    });
  };
  limitRequests("/oauth/*", REQUESTS_PER_SECOND, 1);
  for (const path of STORING_PATHS) limitRequests(path, STORED_PER_MINUTE, 60);
  addOAuthMetadata(app, publicUrl);
  const clients = createClients({
    store,
    fetch,
    timers,
    newId,
    maxUnused: options.maxUnusedClients,
  });
  const tokens = createTokenEndpoint({ store, newId, now });
  addOAuthEndpoints(app, { clients, tokens, store, newId, now, publicUrl });
  addOAuthPages(app, { ...options, clients, now });
}
