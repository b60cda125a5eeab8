/** The bindings of the Worker, as wrangler.jsonc names them. Variables and secrets: see settings.ts. */
import type { DurableObjectNamespace, Fetcher } from "cloudflare:workers";
import type { WebhookStore } from "./webhook-store.ts";

export interface Bindings {
  WEBHOOK_STORE: DurableObjectNamespace<WebhookStore>;
  /** The files of the web UI. */
  ASSETS: Fetcher;
}
