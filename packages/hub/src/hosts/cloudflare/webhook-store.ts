import {
  DurableObject,
  type DurableObjectState,
  type HibernatableSocket,
} from "cloudflare:workers";
import { openDurableObject } from "../../store/backends/durable-object.ts";
import type { Bindings } from "./bindings.ts";
import { type ObjectHub, startObjectHub } from "./object-hub.ts";

/** `store-{tenant}`: the events, flows and runs of one tenant, and the hub that serves them. */
export class WebhookStore extends DurableObject<Bindings> {
  #hub!: ObjectHub;

  constructor(state: DurableObjectState, env: Bindings) {
    super(state, env);
    // If it rejects, the object is created anew by the next request.
    void state.blockConcurrencyWhile(async () => {
      this.#hub = await startObjectHub({ state, env, store: openDurableObject(state.storage) });
    });
  }

  fetch(request: Request): Promise<Response> {
    return this.#hub.fetch(request);
  }

  alarm(): void {
    this.#hub.onAlarm();
  }

  webSocketMessage(socket: HibernatableSocket, data: unknown): void {
    this.#hub.sockets.onMessage(socket, data);
  }

  webSocketClose(socket: HibernatableSocket): void {
    this.#hub.sockets.onClose(socket);
  }

  webSocketError(socket: HibernatableSocket): void {
    this.#hub.sockets.onClose(socket);
  }
}
