/** The HTTP server of the hub, without webhooks, callbacks and live streams: the routes of all parts. */

import { routes as contractRoutes } from "@signalbox/contract";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Hono } from "hono";
import { WEBHOOKS } from "../events/admit/receive-request.ts";
import type { Inbox } from "../events/inbox/inbox.ts";
import { parameterSchemas } from "../flows/editing/node-type-routes.ts";
import { limitConcurrency } from "../kernel/http/concurrency-limit.ts";
import { mountRoutes } from "../kernel/http/route.ts";
import type { Kernel, Part } from "../part.ts";
import type { PeopleService } from "../people/part.ts";
import type { Store } from "../store.ts";
import type { TokensPart } from "../tokens/part.ts";
import { createAuthorizeMetrics } from "./authorize-metrics.ts";
import { type AppOptions, createHttpApp } from "./http-app.ts";
import { addOpenApiRoute } from "./openapi.ts";

export interface HttpOptions extends Pick<AppOptions, "checkReady"> {
  parts: readonly Part[];
  inbox: Inbox;
  people: Pick<PeopleService, "signIn" | "avatarOrigins">;
}

export function createHttp(
  kernel: Kernel,
  { tokens, authorizeRequest }: TokensPart,
  { parts, inbox, people, checkReady }: HttpOptions,
): Hono {
  const { ports, settings, closing, checkHost, onError } = kernel;
  const { publicUrl } = settings;
  const app = createHttpApp({
    checkReady,
    imageOrigins: people.avatarOrigins,
    // Pages of a local hub redirect to `settings.host`. If people sign in with GitHub they do not, because
    // the callback URL of the App may have another host name.
    pageHost: settings.isPublic || people.signIn ? undefined : settings.host,
    pages: parts.flatMap((part) => part.pages ?? []),
    metrics: ports.metrics,
    authorizeMetrics: settings.metricsNeedToken
      ? createAuthorizeMetrics({ authorizeRequest, tokens, tenancy: settings.tenancy })
      : undefined,
    checkHost,
    publicUrl,
    isStopping: () => closing.aborted,
    home: describeHome(kernel, inbox),
    readWebFile: ports.readWebFile,
    onError,
  });
  // The limit applies to the routes that are added below.
  app.use(
    limitConcurrency({
      yieldToEventLoop: () => new Promise((resolve) => ports.timers.defer(resolve)),
      publicUrl,
    }),
  );
  for (const part of parts) part.mount?.(app);
  const routes = parts.flatMap((part) => part.routes ?? []);
  mountRoutes(app, routes, authorizeRequest, settings.limits);
  addOpenApiRoute(app, {
    routes: contractRoutes,
    version: settings.version,
    schemas: parameterSchemas(nodeTypes),
    checkHost,
    publicUrl,
  });
  return app;
}

const START_PAGE_EVENTS = 8;

const STORAGE_NAMES: Record<Store["backend"], string> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  "durable-object": "Durable Objects",
};

const describeHome =
  ({ store, settings, tenant, addresses }: Kernel, inbox: Inbox): AppOptions["home"] =>
  async (isLocal) => {
    const { url, publicUrl } = await addresses;
    return {
      version: settings.version,
      url,
      webhookUrl: `${publicUrl}${WEBHOOKS}github`,
      acceptsUnsigned: settings.allowUnsigned,
      storage: STORAGE_NAMES[store.backend],
      pending: tenant === undefined ? null : (await store.pendingStatus(tenant)).pending_count,
      // The start page requires no token, so it shows events only to browsers on this machine.
      newest:
        tenant === undefined || !isLocal || settings.isPublic
          ? null
          : (await inbox.listSummaries([tenant], { limit: START_PAGE_EVENTS })).events,
    };
  };
