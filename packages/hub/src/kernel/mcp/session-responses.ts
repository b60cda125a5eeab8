/**
 * Ends the SSE response to a POST when no further message can follow. The SDK ends it only when every
 * request of the POST has a response. But a cancelled request gets no response, and of two requests
 * with the same id only the later one does: their streams would stay open until the client disconnects.
 */
import {
  isSpecType,
  type RequestId,
  type WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

export interface SessionResponses {
  /** Returns a signal that is aborted when no further response to this HTTP request can be sent. */
  abandonedSignal(request: Request): AbortSignal;
}

/** The response to one POST, which may contain a batch of requests. */
interface PendingResponse {
  /** The requests without a response that are not cancelled. */
  open: Set<RequestId>;
  cancelled: Set<RequestId>;
  abandoned: AbortController;
}

/** Must be called before a server is connected to the transport. */
export function trackResponses(
  transport: WebStandardStreamableHTTPServerTransport,
): SessionResponses {
  const pending = new WeakMap<Request, PendingResponse>();
  /** Open and cancelled requests. Cancelled ones stay until the other requests of their POST end. */
  const byId = new Map<RequestId, PendingResponse>();
  const send = transport.send.bind(transport);

  const pendingOf = (request: Request): PendingResponse => {
    const response = pending.get(request) ?? {
      open: new Set(),
      cancelled: new Set(),
      abandoned: new AbortController(),
    };
    pending.set(request, response);
    return response;
  };

  function begin(id: RequestId, response: PendingResponse): void {
    const previous = byId.get(id);
    byId.set(id, response);
    response.open.add(id);
    if (!previous || previous === response) return;
    // The SDK now maps the id to the new response.
    previous.open.delete(id);
    previous.cancelled.delete(id);
    if (previous.open.size > 0) return;
    previous.abandoned.abort();
    cleanUp(previous);
  }

  function finish(id: RequestId, outcome: "answered" | "cancelled"): void {
    const response = byId.get(id);
    if (!response?.open.delete(id)) return;
    if (outcome === "cancelled") response.cancelled.add(id);
    else byId.delete(id);
    if (response.open.size > 0 || response.cancelled.size === 0) return;
    transport.closeSSEStream(id); // the messages in the stream are still sent
    cleanUp(response);
  }

  /**
   * Responds to cancelled requests, so that the SDK drops their state. No client gets these
   * messages.
   */
  function cleanUp({ cancelled }: PendingResponse): void {
    for (const id of cancelled) {
      byId.delete(id);
      const error = { code: -32_000, message: "Cancelled" };
      send({ jsonrpc: "2.0", id, error }).catch(() => {});
    }
  }

  transport.onmessage = (message, extra) => {
    if ("method" in message && "id" in message) {
      if (extra?.request) begin(message.id, pendingOf(extra.request));
    } else if (isSpecType.CancelledNotification(message)) {
      const { requestId } = message.params;
      if (requestId !== undefined) finish(requestId, "cancelled");
    }
  };
  transport.send = (message, options) => {
    const sent = send(message, options); // without an event store, the SDK writes synchronously
    if (!("method" in message) && message.id !== undefined) finish(message.id, "answered");
    return sent;
  };
  return { abandonedSignal: (request) => pendingOf(request).abandoned.signal };
}
