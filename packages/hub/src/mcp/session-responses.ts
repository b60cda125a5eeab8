/**
 * Ends the SSE response to a POST when no further message can come. The SDK ends it when each request
 * in it has its response, but a cancelled request gets none, and of two requests with the same id
 * only the later one is answered. Without this, such a stream stays open as long as its client.
 */
import {
  isSpecType,
  type RequestId,
  type WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

export interface SessionResponses {
  /** Aborted when no further message can come in response to this request. */
  abandoned(request: Request): AbortSignal;
}

/** The response to one POST, which may hold a batch of requests. */
interface PendingResponse {
  open: Set<RequestId>;
  cancelled: Set<RequestId>;
  abandoned: AbortController;
}

/** Must be called before a server is connected to the transport. */
export function trackResponses(
  transport: WebStandardStreamableHTTPServerTransport,
): SessionResponses {
  const pending = new WeakMap<Request, PendingResponse>();
  /** Until the request is answered; for a cancelled one, until the others of its POST are. */
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
    const former = byId.get(id);
    byId.set(id, response);
    response.open.add(id);
    if (!former || former === response) return;
    // The SDK now maps the id to the new response.
    former.open.delete(id);
    former.cancelled.delete(id);
    if (former.open.size > 0) return;
    former.abandoned.abort();
    cleanUp(former);
  }

  function finish(id: RequestId, how: "answered" | "cancelled"): void {
    const response = byId.get(id);
    if (!response?.open.delete(id)) return;
    if (how === "cancelled") response.cancelled.add(id);
    else byId.delete(id);
    if (response.open.size > 0 || response.cancelled.size === 0) return;
    transport.closeSSEStream(id); // messages that were written before are still sent
    cleanUp(response);
  }

  /** Answers cancelled requests, so that the SDK drops their state. The messages reach no client. */
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
    const sent = send(message, options); // written synchronously: there is no event store
    if (!("method" in message) && message.id !== undefined) finish(message.id, "answered");
    return sent;
  };
  return { abandoned: (request) => pendingOf(request).abandoned.signal };
}
