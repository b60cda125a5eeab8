import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { NO_ANSWER, OVER_LIMIT } from "./answer-codes.ts";
import { type Exchange, type Exchanges, newExchange } from "./exchange.ts";
import { MAX_OTHER_BYTES } from "./limits.ts";
import { mapMessages } from "./map-messages.ts";

export interface HttpTransportOptions {
  fetch: WebFetch;
  exchanges: Pick<Exchanges, "find" | "run">;
  timers: Pick<Timers, "after">;
}

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/**
 * Differs from the SDK's transport in two ways. If a response ends without an answer to its request, the
 * request fails immediately; the SDK waits for the timeout. If a call is cancelled, its HTTP request is
 * aborted; the SDK does not abort it in the legacy protocol (with `initialize`).
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #exchanges: HttpTransportOptions["exchanges"];
  readonly #unanswered = new Set<RequestId>();

  constructor(url: URL, { fetch, exchanges, timers }: HttpTransportOptions) {
    super(url, {
      fetch,
      reconnectionScheduler: (reconnect, delay) => timers.after(delay, reconnect),
      onInsufficientScope: "throw",
    });
    this.#exchanges = exchanges;
    mapMessages(this, (message) => {
      if (isJSONRPCResponse(message) && message.id !== undefined)
        this.#unanswered.delete(message.id);
      return message;
    });
  }

  override async send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options?: SendOptions,
  ): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message) || options?.onRequestStreamEnd)
      return super.send(message, options);
    const exchange = this.#exchanges.find(options?.headers);
    if (exchange) return this.#request(message, exchange, options);
    // Only requests of the handshake have no exchange yet.
    const stop = new AbortController();
    const handshake = newExchange(MAX_OTHER_BYTES, stop);
    stop.signal.addEventListener("abort", () =>
      this.#endUnanswered(message.id, OVER_LIMIT, stop.signal.reason.message),
    );
    return this.#exchanges.run(handshake, (headers) =>
      this.#request(message, handshake, { ...options, headers }),
    );
  }

  async #request(message: JSONRPCRequest, exchange: Exchange, options: SendOptions): Promise<void> {
    this.#unanswered.add(message.id);
    const text = "The server's response ended without an answer to the request.";
    const end = () => this.#endUnanswered(message.id, NO_ANSWER, text);
    try {
      await super.send(message, {
        ...options,
        requestSignal: options?.requestSignal ?? exchange.stop.signal,
        onRequestStreamEnd: end,
      });
    } catch (error) {
      this.#unanswered.delete(message.id);
      throw error;
    }
    if (!exchange.isStream) end();
  }

  #endUnanswered(id: RequestId, code: number, message: string): void {
    if (this.#unanswered.has(id))
      this.onmessage?.({ jsonrpc: "2.0", id, error: { code, message } });
  }
}
