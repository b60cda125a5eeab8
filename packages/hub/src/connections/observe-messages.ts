import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

type Handler = NonNullable<Transport["onmessage"]>;

/** Calls `observe` with each message that the transport receives, before its handler. */
export function observeMessages(
  transport: Transport,
  observe: (message: JSONRPCMessage) => void,
): void {
  const outer = Object.getOwnPropertyDescriptor(transport, "onmessage");
  let handler: Handler | undefined;
  /** The SDK saves and restores the handler; it must not be observed twice. */
  const observed = new WeakSet<Handler>();

  const wrap = (next: Handler): Handler => {
    if (observed.has(next)) return next;
    const wrapped: Handler = (message, extra) => {
      observe(message);
      next(message, extra);
    };
    observed.add(wrapped);
    return wrapped;
  };

  Object.defineProperty(transport, "onmessage", {
    configurable: true,
    enumerable: true,
    get: () => handler,
    set(next: Handler | undefined) {
      handler = next && wrap(next);
      outer?.set?.call(transport, handler);
      // Another observer has wrapped the handler again.
      if (outer?.get) handler = outer.get.call(transport);
      if (handler) observed.add(handler);
    },
  });
}
