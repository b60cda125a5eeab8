/**
 * Passes an HTTP request under `/webhooks/` to the pipeline, with the client's address behind trusted
 * proxies and the endpoint from the path. Rejects requests while the hub is shutting down.
 */
import { clientAddress, type TrustedProxy } from "./addresses.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { type IngestOutcome, type Rejection, rejection } from "./ingest-outcome.ts";

export const WEBHOOKS = "/webhooks/";

/** A request as the host receives it. */
interface WebhookRequest
  extends Pick<IncomingRequest, "method" | "header" | "headerNames" | "body"> {
  /** Path and query. */
  url: string;
  /** The address of the other end of the connection. */
  peer: string;
}

export interface ReceiveWebhookOptions {
  receive(request: IncomingRequest): Promise<IngestOutcome>;
  proxy: TrustedProxy | undefined;
  isStopping: () => boolean;
  onRejected: (rejected: Rejection, address: string) => void;
}

export type ReceiveWebhook = (request: WebhookRequest) => Promise<IngestOutcome>;

export function createReceiveWebhook({
  receive,
  proxy,
  isStopping,
  onRejected,
}: ReceiveWebhookOptions): ReceiveWebhook {
  return ({ url, peer, method, header, headerNames, body }) => {
    const address = proxy ? clientAddress(peer, (name) => header(name).join(","), proxy) : peer;
    if (isStopping()) {
      onRejected(STOPPING, address);
      return Promise.resolve(STOPPING);
    }
    const { source, key } = endpointOf(url);
    return receive({ source, key, method, address, header, headerNames, body });
  };
}

const STOPPING = rejection("stopping", "This hub is shutting down; send the webhook again.", {
  retryAfter: 5,
});

/** `/webhooks/SOURCE` or `/webhooks/SOURCE/KEY`. */
function endpointOf(url: string): { source: string; key: string | undefined } {
  const end = url.indexOf("?");
  const parts = url.slice(WEBHOOKS.length, end < 0 ? undefined : end).split("/");
  return parts.length > 2
    ? { source: "", key: undefined }
    : { source: parts[0] as string, key: parts[1] || undefined };
}
