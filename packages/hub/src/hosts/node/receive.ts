/**
 * Webhooks on Node, from the socket to the pipeline without a `Request` in between: building one,
 * with its stream, would cost more than verifying and storing the event.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { clientAddress, type TrustedProxy } from "../../ingest/addresses.ts";
import type { IncomingRequest } from "../../ingest/incoming-request.ts";
import {
  type IngestOutcome,
  type Rejection,
  rejection,
  toAnswer,
} from "../../ingest/ingest-outcome.ts";
import { createBodyReader } from "./read-body.ts";
import { sendAnswer } from "./send-answer.ts";

export const WEBHOOKS = "/webhooks/";

export interface ReceiveOptions {
  receive(arrival: IncomingRequest): Promise<IngestOutcome>;
  proxy: TrustedProxy | undefined;
  isStopping: () => boolean;
  /** Told of what is refused here, before it gets to `receive`. */
  onRejected: (rejected: Rejection, address: string) => void;
  lingerMs: number;
  bodyBudgetBytes: number;
}

const NO_VALUES: readonly string[] = [];

export function createReceiver({
  receive,
  proxy,
  isStopping,
  onRejected,
  lingerMs,
  bodyBudgetBytes,
}: ReceiveOptions) {
  const readBody = createBodyReader(bodyBudgetBytes);

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const header = (name: string) => valuesOf(request.rawHeaders, name);
    const peer = request.socket.remoteAddress ?? "";
    const address = proxy ? clientAddress(peer, (name) => header(name).join(","), proxy) : peer;
    if (isStopping()) {
      const rejected = rejection("stopping", "This hub is shutting down; send it again.", {
        retryAfter: 5,
      });
      onRejected(rejected, address);
      return sendAnswer(request, response, toAnswer(rejected), { lingerMs, close: true });
    }
    const { source, key } = route(request.url ?? "");
    const outcome = await receive({
      source,
      key,
      method: request.method ?? "",
      address,
      header,
      headerNames: () => Object.keys(request.headersDistinct),
      body: (limit) => readBody(request, response, header, limit),
    });
    sendAnswer(request, response, toAnswer(outcome), { lingerMs, close: isStopping() });
  };
}

/** All values of a header. `headersDistinct` would build the lists of all headers for each request. */
function valuesOf(raw: readonly string[], name: string): readonly string[] {
  let found: string[] | undefined;
  for (let at = 0; at < raw.length; at += 2) {
    const given = raw[at] as string;
    if (given.length !== name.length || given.toLowerCase() !== name) continue;
    const value = raw[at + 1] as string;
    if (found) found.push(value);
    else found = [value];
  }
  return found ?? NO_VALUES;
}

function route(url: string): { source: string; key: string | undefined } {
  const end = url.indexOf("?");
  const parts = url.slice(WEBHOOKS.length, end < 0 ? undefined : end).split("/");
  return parts.length > 2
    ? { source: "", key: undefined }
    : { source: parts[0] as string, key: parts[1] || undefined };
}
