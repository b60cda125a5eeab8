/** The Worker of the workerd tests: a store in a Durable Object, called by RPC. */
import {
  DurableObject,
  type DurableObjectNamespace,
  type DurableObjectState,
  type Env,
} from "cloudflare:workers";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import type { Notice } from "../store/sql.ts";
import { openDurableObject } from "./durable-object.ts";

declare module "cloudflare:workers" {
  interface Env {
    STORE: DurableObjectNamespace<StoreObject>;
  }
}

export class StoreObject extends DurableObject {
  readonly #store: Store;
  readonly #notices: Notice[] = [];

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#store = openDurableObject(storeDefinition, state.storage);
    this.#store.subscribe((notice) => this.#notices.push(notice));
  }

  /** Returns errors, since workerd logs every error that an object throws, even an expected one. */
  async call(verb: string, args: unknown[]): Promise<{ result: unknown } | { error: string }> {
    const verbs = this.#store as unknown as Record<string, (...args: unknown[]) => unknown>;
    try {
      return { result: await verbs[verb]?.(...args) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }

  async notices(): Promise<Notice[]> {
    return this.#notices;
  }

  /** Ends the object like a crash. The next call creates a new one on the same storage. */
  async crash(): Promise<void> {
    this.ctx.abort("crashed by the test");
  }
}

export default {
  fetch: () =>
    new Response("This Worker only serves the Durable Object of the tests.", { status: 404 }),
};
