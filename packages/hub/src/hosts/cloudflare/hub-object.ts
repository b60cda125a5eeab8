/** A Durable Object that runs the hub. Its subclasses differ in how they compose the store. */
import {
  DurableObject,
  type DurableObjectState,
  type HibernatableSocket,
} from "cloudflare:workers";
import { openDurableObject } from "../../kernel/backends/durable-object.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import type { Bindings } from "./bindings.ts";
import { renameEarlierTables } from "./earlier-tables.ts";
import { type ObjectHub, startObjectHub } from "./object-hub.ts";

export abstract class HubObject extends DurableObject<Bindings> {
  #hub!: ObjectHub;
  /** The store on the tables of this object. */
  protected own!: Store;

  constructor(state: DurableObjectState, env: Bindings) {
    super(state, env);
    // If this rejects, Cloudflare resets the object, and the next request creates it again.
    void state.blockConcurrencyWhile(async () => {
      await undefined; // waits until the constructor of the subclass has initialized its fields
      renameEarlierTables(state.storage);
      this.own = openDurableObject(storeDefinition, state.storage);
      await this.prepare();
      const { store, ...role } = this.compose(this.own);
      this.#hub = await startObjectHub({ state, env, store, ...role });
    });
  }

  /** Called before the hub starts. A subclass may replace verbs of `own` here. */
  protected async prepare(): Promise<void> {}

  /** Composes the hub's store from `own` and the stores of other objects, and returns this object's role. */
  protected abstract compose(own: Store): {
    store: Store;
    /** Whether the tokens and endpoints of the hub are in this object. */
    hasRegistry: boolean;
    /** Undefined if the object serves several tenants. */
    tenant?: string | undefined;
  };

  /** The part of the object's name after the prefix of its class. */
  protected nameAfter(prefix: string): string {
    return (this.ctx.id.name ?? "").slice(prefix.length);
  }

  /** Runs a verb on the tables of this object, for another object. */
  async callStore(verb: string, args: unknown[]): Promise<unknown> {
    const verbs = this.own as unknown as Record<string, (...args: unknown[]) => unknown>;
    return verbs[verb]?.(...args);
  }

  fetch(request: Request): Promise<Response> {
    return this.#hub.fetch(request);
  }

  alarm(): void {
    this.#hub.onAlarm();
  }

  webSocketMessage(socket: HibernatableSocket, data: string | ArrayBuffer): void {
    this.#hub.sockets.onMessage(socket, data);
  }

  webSocketClose(socket: HibernatableSocket): void {
    this.#hub.sockets.onClose(socket);
  }

  webSocketError(socket: HibernatableSocket): void {
    this.#hub.sockets.onClose(socket);
  }
}
