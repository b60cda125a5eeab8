/**
 * The entry of the Worker. It routes requests to the object that serves them, and holds no state: a
 * promise that another request settles would fail in a Worker.
 */
import { problemResponse } from "../../api/problem-response.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { SettingsError } from "../settings.ts";
import type { Bindings } from "./bindings.ts";
import { readWorkerSettings } from "./settings.ts";

export { WebhookStore } from "./webhook-store.ts";

export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    try {
      readWorkerSettings(env);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      return problemResponse(503, "misconfigured", "Misconfigured", error.message);
    }
    return env.WEBHOOK_STORE.getByName(`store-${LOCAL_TENANT}`).fetch(request);
  },
};
