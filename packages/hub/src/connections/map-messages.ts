import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

type Handler = NonNullable<Transport["onmessage"]>;

/**
 * Calls `map` with each message that the transport receives, and passes the result to the transport's
 * `onmessage` handler. If the result is undefined, the message is dropped.
 */
export function mapMessages(
  transport: Transport,
  map: (message: JSONRPCMessage) => JSONRPCMessage | undefined,
): void {
  /** Has accessors if `mapMessages` was called before for this transport. */
  const previous = Object.getOwnPropertyDescriptor(transport, "onmessage");
  let handler: Handler | undefined;
  /** The SDK saves and restores the handler; it must not be wrapped twice. */
  const wrappers = new WeakSet<Handler>();

  const wrap = (next: Handler): Handler => {
    if (wrappers.has(next)) return next;
    const wrapped: Handler = (message, extra) => {
      const mapped = map(message);
      if (mapped) next(mapped, extra);
    };
    wrappers.add(wrapped);
    return wrapped;
  };

  Object.defineProperty(transport, "onmessage", {
    configurable: true,
    enumerable: true,
    get: () => handler,
    set(next: Handler | undefined) {
      handler = next && wrap(next);
      previous?.set?.call(transport, handler);
      // The previous setter has wrapped the handler again.
      if (previous?.get) handler = previous.get.call(transport);
      if (handler) wrappers.add(handler);
    },
  });
}
