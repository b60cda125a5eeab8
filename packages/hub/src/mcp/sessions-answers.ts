/**
 * When the answer to a POST is over. To the SDK it is when each request in it has its response; but
 * one that was cancelled gets none, and of two with the same id only the later can be answered. Such
 * an answer would stay open for as long as its client, so it is ended here.
 */
import {
  isSpecType,
  type RequestId,
  type WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

export interface Answers {
  /** Aborted when nothing can come any more in answer to this request. */
  lost(request: Request): AbortSignal;
}

interface Answer {
  /** Which requests are still to be answered, and which were cancelled. */
  open: Set<RequestId>;
  cancelled: Set<RequestId>;
  lost: AbortController;
}

/** Called before a server is connected to the transport. */
export function watchAnswers(transport: WebStandardStreamableHTTPServerTransport): Answers {
  const answers = new WeakMap<Request, Answer>();
  /** Until it is answered; of a cancelled request, until the others of its POST are. */
  const byId = new Map<RequestId, Answer>();
  const send = transport.send.bind(transport);

  const of = (request: Request): Answer => {
    const answer = answers.get(request) ?? {
      open: new Set(),
      cancelled: new Set(),
      lost: new AbortController(),
    };
    answers.set(request, answer);
    return answer;
  };

  function begin(id: RequestId, answer: Answer): void {
    const former = byId.get(id);
    byId.set(id, answer);
    answer.open.add(id);
    if (!former || former === answer) return;
    // The SDK has just forgotten the way to it.
    former.open.delete(id);
    former.cancelled.delete(id);
    if (former.open.size > 0) return;
    former.lost.abort();
    forget(former);
  }

  function over(id: RequestId, how: "answered" | "cancelled"): void {
    const answer = byId.get(id);
    if (!answer?.open.delete(id)) return;
    if (how === "cancelled") answer.cancelled.add(id);
    else byId.delete(id);
    if (answer.open.size > 0 || answer.cancelled.size === 0) return;
    transport.closeSSEStream(id); // what was written before still goes out
    forget(answer);
  }

  /** The SDK keeps in mind what it has not seen answered. This response goes nowhere. */
  function forget({ cancelled }: Answer): void {
    for (const id of cancelled) {
      byId.delete(id);
      const error = { code: -32_000, message: "Cancelled" };
      send({ jsonrpc: "2.0", id, error }).catch(() => {});
    }
  }

  transport.onmessage = (message, extra) => {
    if ("method" in message && "id" in message) {
      if (extra?.request) begin(message.id, of(extra.request));
    } else if (isSpecType.CancelledNotification(message)) {
      const { requestId } = message.params;
      if (requestId !== undefined) over(requestId, "cancelled");
    }
  };
  transport.send = (message, options) => {
    const sent = send(message, options); // written by now: there is no store of events to wait for
    if (!("method" in message) && message.id !== undefined) over(message.id, "answered");
    return sent;
  };
  return { lost: (request) => of(request).lost.signal };
}
