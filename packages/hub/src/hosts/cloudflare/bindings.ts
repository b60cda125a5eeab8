/** The bindings of the Worker, as wrangler.jsonc names them. Variables and secrets: see settings.ts. */
import type { DurableObjectNamespace, Fetcher } from "cloudflare:workers";
import type { TenantRegistry } from "./tenant-registry.ts";
import type { WebhookMcpAgent } from "./webhook-mcp-agent.ts";
import type { WebhookStore } from "./webhook-store.ts";

export interface Bindings {
  TENANT_REGISTRY: DurableObjectNamespace<TenantRegistry>;
  WEBHOOK_STORE: DurableObjectNamespace<WebhookStore>;
  WEBHOOK_MCP_AGENT: DurableObjectNamespace<WebhookMcpAgent>;
  /** The files of the web UI. */
  ASSETS: Fetcher;
}

export const bindingNames = [
  "TENANT_REGISTRY",
  "WEBHOOK_STORE",
  "WEBHOOK_MCP_AGENT",
  "ASSETS",
] as const satisfies (keyof Bindings)[];

export const registryObject = (env: Bindings) => env.TENANT_REGISTRY.getByName("global");
export const storeObject = (env: Bindings, tenant: string) =>
  env.WEBHOOK_STORE.getByName(`store-${tenant}`);
export const agentObject = (env: Bindings, tenant: string) =>
  env.WEBHOOK_MCP_AGENT.getByName(`tenant-${tenant}`);
