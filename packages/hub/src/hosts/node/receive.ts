/**
 * Webhooks on Node, from the socket to the pipeline without a `Request` in between: building one,
 * with its stream, would cost more than verifying and storing the event.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { clientAddress, type TrustedProxy } from "../../ingest/addresses.ts";
import type { Arrival } from "../../ingest/arrival.ts";
import { type Outcome, refuse, toAnswer } from "../../ingest/outcome.ts";
import { createBodyReader } from "./read-body.ts";

export const WEBHOOKS = "/webhooks/";

export interface ReceiveOptions {
  receive(arrival: Arrival): Promise<Outcome>;
  proxy: TrustedProxy | undefined;
  isStopping: () => boolean;
  bodyBudgetBytes?: number;
}

const NO_VALUES: readonly string[] = [];

export function createReceiver({
  receive,
  proxy,
  isStopping,
  bodyBudgetBytes = 512 * 1024 * 1024,
}: ReceiveOptions) {
  const readBody = createBodyReader(bodyBudgetBytes);

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { source, key } = route(request.url ?? "");
    const outcome = isStopping()
      ? refuse("stopping", "This hub is shutting down; send it again.", { retryAfter: 5 })
      : await receive({
          method: request.method ?? "",
          source,
          key,
          address: clientAddress(
            request.socket.remoteAddress ?? "",
            (name) => request.headersDistinct[name]?.join(","),
            proxy,
          ),
          header: (name) => request.headersDistinct[name] ?? NO_VALUES,
          headerNames: () => Object.keys(request.headersDistinct),
          body: (limit) => readBody(request, response, limit),
        });
    if (response.destroyed) return;
    const { status, headers, body } = toAnswer(outcome);
    if (isStopping()) headers.connection = "close";
    response.writeHead(status, headers).end(body);
  };
}

function route(url: string): { source: string; key: string | undefined } {
  const end = url.indexOf("?");
  const [source = "", key, ...rest] = url
    .slice(WEBHOOKS.length, end < 0 ? undefined : end)
    .split("/");
  return rest.length > 0 ? { source: "", key: undefined } : { source, key: key || undefined };
}
