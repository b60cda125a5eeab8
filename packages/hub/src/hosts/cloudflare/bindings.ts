/**
 * The bindings of the Worker, as wrangler.jsonc names them, and the methods that objects call on each other by
 * RPC. Variables and secrets: see worker-settings.ts.
 */
import type { DurableObjectNamespace, Fetcher } from "cloudflare:workers";
import type { Notice } from "../../kernel/store/sql.ts";
import type { StoreCalls } from "./compose-store.ts";

interface ObjectCalls extends StoreCalls {
  fetch(request: Request): Promise<Response>;
}

export interface RegistryCalls extends ObjectCalls {
  /** The tenants that a token or session can access, by its hash. `*` stands for all tenants. */
  tenantsOf(hash: string): Promise<readonly string[]>;
  tenantOfKey(key: string): Promise<string | undefined>;
  tenantOfInstallation(id: string): Promise<string | undefined>;
  hasTenant(id: string): Promise<boolean>;
}

export interface AgentCalls extends ObjectCalls {
  /** Deletes the tables of an earlier Worker. Called by the store of a tenant whose data is deleted. */
  deleteEarlierTables(): Promise<void>;
  /** Called by a store. Returns false if no client can be waiting for events. */
  notify(notice: Notice): Promise<boolean>;
}

export interface Bindings {
  TENANT_REGISTRY: DurableObjectNamespace<RegistryCalls>;
  WEBHOOK_STORE: DurableObjectNamespace<ObjectCalls>;
  WEBHOOK_MCP_AGENT: DurableObjectNamespace<AgentCalls>;
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
