import { createListeners } from "../../kernel/store/engine.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import { type AgentCalls, registryObject, storeObject } from "./bindings.ts";
import { composeStore, connectStore } from "./compose-store.ts";
import { dropEarlierTables } from "./earlier-tables.ts";
import { HubObject } from "./hub-object.ts";

/**
 * The object `tenant-{tenant}`. Serves the requests of tokens with access to several tenants, such as
 * `/mcp` and `/events`. Its name contains the first of these tenants. The stores of the tenants notify it
 * of new events.
 */
export class WebhookMcpAgent extends HubObject implements AgentCalls {
  #notices!: ReturnType<typeof createListeners>;
  /** Whether a client has sent a request since the object was loaded, and may wait for events. */
  #isUsed = false;

  protected override compose(own: Store) {
    this.#notices = createListeners();
    const name = this.nameAfter("tenant-");
    const registry = connectStore(() => registryObject(this.env));
    const storeOf = (tenant: string) => connectStore(() => storeObject(this.env, tenant), name);
    const { subscribe } = this.#notices;
    return { store: composeStore({ own, registry, storeOf, subscribe }), hasRegistry: false };
  }

  override fetch(request: Request): Promise<Response> {
    this.#isUsed = true;
    return super.fetch(request);
  }

  async deleteEarlierTables(): Promise<void> {
    dropEarlierTables(this.ctx.storage);
  }

  async notify(notice: Notice): Promise<boolean> {
    this.#notices.notify([notice]);
    return this.#isUsed || this.ctx.getWebSockets().length > 0;
  }
}
