import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { Hono } from "hono";
import { createAuthorizeRequest } from "../../api/authorize-request.ts";
import { managementRoutes } from "../../api/management-routes.ts";
import { mountRoutes } from "../../api/route.ts";
import { createIds } from "../../lib/ids.ts";
import { createSeal, type Seal } from "../../lib/seal.ts";
import type { Store } from "../../store/store.ts";
import { createAuthorizer } from "../../tenants/authorizer.ts";
import { withLocalToken } from "../../tenants/local-token.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { randomSecret } from "../../tenants/tokens.ts";
import { createSandbox } from "../node/sandbox.ts";
import { sealKey } from "../node/seal-key.ts";
import { systemTimers } from "../node/system-timers.ts";
import { localUrl, type Settings } from "../settings.ts";
import {
  connectToHub,
  createHubClient,
  findRunningHub,
  type HubClient,
  type HubLocation,
} from "./hub-client.ts";
import { serveFlags } from "./same-hub-flags.ts";
import { withStore } from "./with-store.ts";

type Tenancy = Settings["tenancy"];

export interface WithHubOptions {
  /**
   * Returns the tenant of the requests; undefined if the token determines it. The tenancy of a remote
   * hub is undefined unless the settings name it.
   */
  tenantIn(tenancy: Tenancy | undefined): string | undefined;
  /** Create a missing database. */
  create: boolean;
}

/**
 * Gives `work` the management routes of the API: of the hub in SIGNALBOX_URL, else of the hub that runs
 * on the data folder, so that it learns of changes at once. If none runs, the routes are served in this
 * process, on the database.
 */
export async function withHub(
  settings: Settings,
  { tenantIn, create }: WithHubOptions,
  work: (hub: HubClient) => Promise<void>,
): Promise<void> {
  const { url, tenancy } = settings;
  if (url !== undefined) {
    const isGiven = settings.origins.some(
      ({ name, from }) => name === "tenancy" && from !== "default",
    );
    return work(connectToHub(settings, { tenant: tenantIn(isGiven ? tenancy : undefined) }));
  }
  const running = await findRunningHub(settings);
  if (running) return work(createHubClient(running, { tenant: tenantIn(running.tenancy) }));
  const tenant = tenantIn(tenancy);
  await withStore(settings, { create }, async (store) => {
    const sandbox = createSandbox();
    try {
      const { fetch, token } = await serveInProcess(store, settings, sandbox.evaluate);
      const location: HubLocation = {
        url: localUrl(settings),
        token,
        isTokenGiven: false,
        from: "default",
        serveFlags: serveFlags(settings),
      };
      await work(createHubClient(location, { tenant, fetch }));
    } finally {
      await sandbox.close();
    }
  });
}

async function serveInProcess(
  store: Store,
  settings: Settings,
  evaluate: ReturnType<typeof createSandbox>["evaluate"],
): Promise<{ fetch: typeof fetch; token: string }> {
  const now = Date.now;
  const token = randomSecret("sbx_local_");
  const tokens = await withLocalToken(store, token, now());
  const authorizer = createAuthorizer({
    store: tokens,
    now,
    everyTenant: settings.tenancy === "single" ? [LOCAL_TENANT] : undefined,
  });
  const app = new Hono();
  app.onError((error) => {
    throw error;
  });
  const routes = managementRoutes({
    store,
    tokens,
    registry: nodeTypes,
    evaluate,
    seal: lazySeal(settings),
    newId: createIds(),
    now,
    tenancy: settings.tenancy,
    publicUrl: settings.publicUrl,
    connections: {
      timers: systemTimers,
      allowCommands: settings.allowCommands === "on",
      waitMs: 0,
      calls: undefined,
    },
  });
  mountRoutes(app, routes, createAuthorizeRequest({ authorizer, checkHost: () => undefined }));
  return { fetch: async (input, init) => app.fetch(new Request(input, init)), token };
}

/** Most commands store no secret, and must not create a key. */
const lazySeal = ({ key, data }: Settings): Seal => ({
  seal: (text) => createSeal(sealKey(key, data)).seal(text),
  unseal: (sealed) => createSeal(sealKey(key, data)).unseal(sealed),
});
