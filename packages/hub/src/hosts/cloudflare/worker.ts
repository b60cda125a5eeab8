import { LOCAL_TENANT } from "../../kernel/access/scopes.ts";
import { problemResponse } from "../../kernel/http/problem-response.ts";
import { SettingsError } from "../../kernel/settings.ts";
import { type Bindings, storeObject } from "./bindings.ts";
import { forward } from "./routes.ts";
import { readWorkerSettings } from "./worker-settings.ts";

export { TenantRegistry } from "./tenant-registry.ts";
export { WebhookMcpAgent } from "./webhook-mcp-agent.ts";
export { WebhookStore } from "./webhook-store.ts";

export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    try {
      const settings = readWorkerSettings(env);
      return settings.tenancy === "single"
        ? await storeObject(env, LOCAL_TENANT).fetch(request)
        : await forward(request, env, settings);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      return problemResponse(503, "misconfigured", "Misconfigured", error.message);
    }
  },
};
