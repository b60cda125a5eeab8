import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { Hono } from "hono";
import { authorizationRoutes } from "../../connections/authorization-routes.ts";
import { commandRefusal } from "../../connections/command.ts";
import { createConnectionEditor } from "../../connections/connection-editor.ts";
import { connectionRoutes, createViewDetails } from "../../connections/connection-routes.ts";
import { sourceRoutes } from "../../events/endpoints/source-routes.ts";
import { createFlows } from "../../flows/editing/flows.ts";
import { editingRoutes } from "../../flows/part.ts";
import { hubSettings } from "../../hub-settings.ts";
import { createAuthorizeRequest } from "../../kernel/access/authorize-request.ts";
import { createAuthorizer } from "../../kernel/access/authorizer.ts";
import { LOCAL_TENANT } from "../../kernel/access/scopes.ts";
import { mountRoutes } from "../../kernel/http/route.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { randomSecret } from "../../kernel/lib/random-secret.ts";
import { createSeal, type Seal } from "../../kernel/lib/seal.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store.ts";
import { createTenantDeletions } from "../../tenants/tenant-deletions.ts";
import { tenantRoutes } from "../../tenants/tenant-routes.ts";
import { withLocalToken } from "../../tokens/local-token.ts";
import { tokenRoutes } from "../../tokens/token-routes.ts";
import { createJobWorkers } from "../node/job-workers.ts";
import { systemTimers } from "../node/ports.ts";
import { loadSealKeys } from "../node/seal-key.ts";

/** Serves the routes that need only a store in this process, on the database, for commands without a running hub. */
export async function serveInProcess(
  store: Store,
  settings: Settings,
): Promise<{ fetch: typeof fetch; token: string; close: () => Promise<void> }> {
  const now = Date.now;
  const token = randomSecret("sbx_local_");
  const tokens = await withLocalToken(store, token, now());
  // Created after the steps that can fail, because a failure would leave the workers running.
  const workers = createJobWorkers();
  const authorizer = createAuthorizer({
    store: tokens,
    now,
    everyTenant: settings.tenancy === "single" ? [LOCAL_TENANT] : undefined,
  });
  const app = new Hono();
  // The command reports the error. By default, Hono would respond with status 500.
  app.onError((error) => {
    throw error;
  });
  const timers = systemTimers;
  const deletions = createTenantDeletions({
    store,
    timers,
    isStopped: () => false,
    onError(error) {
      throw error;
    },
  });
  const seal = lazySeal(settings);
  const newId = createIds();
  const { runJob } = workers;
  const { tenancy, publicUrl } = settings;
  const editor = createConnectionEditor({
    store,
    seal,
    timers,
    commandRefusal: settings.allowCommands === "on" ? undefined : commandRefusal(undefined),
    waitMs: 0,
  });
  const routes = [
    ...editingRoutes({
      store,
      flows: createFlows({ store, registry: nodeTypes, runJob, newId, now }),
      seal,
      tenancy,
      newId,
      now,
    }),
    // Without a running hub, tools cannot be called, and the tokens of deleted connections are not revoked.
    ...connectionRoutes({ store, editor, connections: undefined, revokeRemoved: undefined, now }),
    ...authorizationRoutes({
      editor,
      authorizations: undefined,
      publicUrl,
      viewDetails: createViewDetails(store),
    }),
    ...tokenRoutes({ store, tokens, tenancy, newId, now }),
    ...tenantRoutes({ store, tokens, tenancy, defaults: hubSettings(settings, 0), deletions, now }),
    ...sourceRoutes({ store, seal, newId, now, publicUrl }),
  ];
  mountRoutes(app, routes, createAuthorizeRequest({ authorizer, checkHost: () => undefined }));
  return {
    fetch: async (input, init) => app.fetch(new Request(input, init)),
    token,
    async close() {
      await deletions.idle();
      await workers.close();
    },
  };
}

/** Loads the key on first use. `loadSealKeys` creates a missing key, which only stored secrets need. */
function lazySeal({ key, data }: Settings): Seal {
  const create = () => {
    const [current, ...former] = loadSealKeys(key, data);
    return createSeal(current, former);
  };
  return {
    seal: (text) => create().seal(text),
    unseal: (sealed) => create().unseal(sealed),
  };
}
