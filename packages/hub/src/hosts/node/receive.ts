/**
 * Receives webhooks and callbacks on Node. The request is read from the socket without a Web `Request`:
 * building one, with its stream, would cost more than verifying and storing the event.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ReceiveRequest } from "../../events/admit/receive-request.ts";
import type { BodyBudget } from "../../kernel/http/body-budget.ts";
import { type IngestOutcome, toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { createBodyReader } from "./read-body.ts";
import { sendAnswer } from "./send-answer.ts";

export interface ReceiverOptions {
  receive: ReceiveRequest;
  isStopping: () => boolean;
  bodyBudget: BodyBudget;
  lingerMs: number;
}

const NO_VALUES: readonly string[] = [];

export function createReceiver({ receive, isStopping, bodyBudget, lingerMs }: ReceiverOptions) {
  const readBody = createBodyReader(bodyBudget);

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const header = (name: string) => headerValues(request.rawHeaders, name);
    let releaseBody = () => {};
    const onLargeBody = (release: () => void) => {
      releaseBody = release;
    };
    let outcome: IngestOutcome;
    try {
      outcome = await receive({
        url: request.url ?? "",
        peer: request.socket.remoteAddress ?? "",
        method: request.method ?? "",
        header,
        headerNames: () => Object.keys(request.headersDistinct),
        body: (limit) => readBody(request, response, header, limit, onLargeBody),
      });
    } finally {
      releaseBody();
    }
    sendAnswer(request, response, toAnswer(outcome), { lingerMs, close: isStopping() });
  };
}

/** All values of one header. `headersDistinct` would build lists for all headers. */
function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const rawName = rawHeaders[at] as string;
    if (rawName.length !== name.length || rawName.toLowerCase() !== name) continue;
    const value = rawHeaders[at + 1] as string;
    if (values) values.push(value);
    else values = [value];
  }
  return values ?? NO_VALUES;
}
