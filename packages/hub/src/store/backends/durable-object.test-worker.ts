/** The Worker that the tests in workerd talk to: a store in a Durable Object, reached by RPC. */
import {
  DurableObject,
  type DurableObjectNamespace,
  type DurableObjectState,
  type Env,
} from "cloudflare:workers";
import type { Notice } from "../sql.ts";
import type { Store } from "../store.ts";
import { openDurableObject } from "./durable-object.ts";

declare module "cloudflare:workers" {
  interface Env {
    STORE: DurableObjectNamespace<StoreObject>;
  }
}

export class StoreObject extends DurableObject {
  readonly #store: Store;
  readonly #heard: Notice[] = [];

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#store = openDurableObject(state.storage);
    this.#store.subscribe((notice) => this.#heard.push(notice));
  }

  /** Errors are returned: workerd prints each one that leaves an object, also those that a test wants. */
  async call(verb: string, args: unknown[]): Promise<{ result: unknown } | { error: string }> {
    const verbs = this.#store as unknown as Record<string, (...args: unknown[]) => unknown>;
    try {
      return { result: await verbs[verb]?.(...args) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }

  async heard(): Promise<Notice[]> {
    return this.#heard;
  }

  /** Ends the object as a crash would; the next call finds a new one on the same storage. */
  async crash(): Promise<void> {
    this.ctx.abort("crashed by the test");
  }
}

export default {
  fetch: () => new Response("Only the tests' Durable Object lives here.", { status: 404 }),
};
