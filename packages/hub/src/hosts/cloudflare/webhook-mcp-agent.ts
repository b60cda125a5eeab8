import { createListeners } from "../../store/listeners.ts";
import type { Notice } from "../../store/sql.ts";
import type { Store } from "../../store/store.ts";
import { registryObject, storeObject } from "./bindings.ts";
import { composeStore } from "./compose-store.ts";
import { dropEarlierTables } from "./earlier-tables.ts";
import { HubObject } from "./hub-object.ts";
import { connectStore } from "./remote-store.ts";

/**
 * `tenant-{tenant}`: serves tokens that open several tenants: `/mcp`, `/events` and their subscriptions.
 * It reads the stores of the tenants, which notify it of new events.
 */
export class WebhookMcpAgent extends HubObject {
  #notices!: ReturnType<typeof createListeners>;
  /** Whether a client may be waiting for events. */
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

  /** Called by the store of the tenant, when its data is deleted. */
  async deleteEarlierTables(): Promise<void> {
    dropEarlierTables(this.ctx.storage);
  }

  /** Called by a store. False if this object was evicted, and no client waits for events. */
  async notify(notice: Notice): Promise<boolean> {
    this.#notices.notify([notice]);
    return this.#isUsed || this.ctx.getWebSockets().length > 0;
  }
}
