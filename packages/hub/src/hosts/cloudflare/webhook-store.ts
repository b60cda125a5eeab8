import type { DurableObjectState } from "cloudflare:workers";
import { LOCAL_TENANT } from "../../kernel/access/scopes.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import { agentObject, type Bindings, registryObject, storeObject } from "./bindings.ts";
import { composeStore, connectStore } from "./compose-store.ts";
import { dropEarlierTables, migrateEarlierEvents } from "./earlier-tables.ts";
import { HubObject } from "./hub-object.ts";
import { readWorkerSettings } from "./worker-settings.ts";

/** The storage key of the names of the agents that are notified of commits. */
const LISTENERS = "listeners";

const NOTICES_FOR_AGENTS: readonly Notice["topic"][] = ["events", "changed", "tenant_deleted"];

/** The object `store-{tenant}`. Stores the events, flows and runs of one tenant, and runs its hub. */
export class WebhookStore extends HubObject {
  /** The names of the agents that read this store. Persisted, since an evicted store must notify them too. */
  readonly #listeners: Set<string>;

  constructor(state: DurableObjectState, env: Bindings) {
    super(state, env);
    this.#listeners = new Set(state.storage.kv.get<string[]>(LISTENERS));
  }

  protected override async prepare(): Promise<void> {
    const { own } = this;
    await migrateEarlierEvents(this.ctx.storage, own, this.#tenant, Date.now());
    this.own = {
      ...own,
      continueDeletion: async (tenant, limit) => {
        if ((await own.getTenant(tenant))?.deleting) await this.#deleteEarlierTables();
        return own.continueDeletion(tenant, limit);
      },
    };
  }

  async #deleteEarlierTables(): Promise<void> {
    dropEarlierTables(this.ctx.storage);
    await agentObject(this.env, this.#tenant).deleteEarlierTables();
  }

  get #tenant(): string {
    return this.nameAfter("store-");
  }

  protected override compose(own: Store) {
    const tenant = this.#tenant;
    own.subscribe((notice) => this.#notifyAgents(notice), NOTICES_FOR_AGENTS);
    // With one tenant, this store is also the registry.
    if (readWorkerSettings(this.env).tenancy === "single" && tenant === LOCAL_TENANT)
      return { store: own, hasRegistry: true };
    const storeOf = (other: string) =>
      other === tenant ? own : connectStore(() => storeObject(this.env, other));
    const registry = connectStore(() => registryObject(this.env));
    return { store: composeStore({ own, registry, storeOf }), hasRegistry: false, tenant };
  }

  override callStore(verb: string, args: unknown[], caller?: string): Promise<unknown> {
    if (caller !== undefined && !this.#listeners.has(caller)) {
      this.#listeners.add(caller);
      this.#saveListeners();
    }
    return super.callStore(verb, args);
  }

  #notifyAgents(notice: Notice): void {
    for (const agent of this.#listeners)
      this.ctx.waitUntil(
        agentObject(this.env, agent)
          .notify(notice)
          .then((isListening) => {
            if (isListening) return;
            this.#listeners.delete(agent);
            this.#saveListeners();
          })
          // A lost notice is harmless: an agent reads the log when it starts.
          .catch(() => {}),
      );
  }

  #saveListeners(): void {
    this.ctx.storage.kv.put(LISTENERS, [...this.#listeners]);
  }
}
