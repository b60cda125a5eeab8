/**
 * Passes webhooks, and callbacks of MCP servers, to the pipeline. It finds the client's address behind
 * trusted proxies, and reads the endpoint from the path. While the hub is shutting down, it rejects
 * every request.
 */
import { clientAddress, type TrustedProxy } from "../../kernel/http/addresses.ts";
import { type IngestOutcome, type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import type { CallbackRequest } from "../callback/admit-callback.ts";
import type { IncomingRequest } from "./incoming-request.ts";

export const WEBHOOKS = "/webhooks/";
/** The path to which MCP servers send the events of their triggers. */
export const TRIGGER_CALLBACK = "/api/trigger-callback";

/** Returns whether the URL (path and query) is for webhooks or for callbacks. */
export const isIngestPath = (url: string): boolean => url.startsWith(WEBHOOKS) || isCallback(url);

/** A request as the host receives it. */
interface HostRequest extends Pick<IncomingRequest, "method" | "header" | "headerNames" | "body"> {
  /** Path and query. */
  url: string;
  /** The address of the TCP peer: the client, or the last proxy. */
  peer: string;
}

export interface ReceiveRequestOptions {
  receive(request: IncomingRequest): Promise<IngestOutcome>;
  receiveCallback(request: CallbackRequest): Promise<IngestOutcome>;
  proxy: TrustedProxy | undefined;
  isStopping: () => boolean;
  onRejected: (rejected: Rejection, address: string) => void;
}

export type ReceiveRequest = (request: HostRequest) => Promise<IngestOutcome>;

export function createReceiveRequest({
  receive,
  receiveCallback,
  proxy,
  isStopping,
  onRejected,
}: ReceiveRequestOptions): ReceiveRequest {
  return ({ url, peer, method, header, headerNames, body }) => {
    const address = proxy ? clientAddress(peer, (name) => header(name).join(","), proxy) : peer;
    if (isStopping()) {
      onRejected(STOPPING, address);
      return Promise.resolve(STOPPING);
    }
    if (isCallback(url)) return receiveCallback({ method, address, header, body });
    const { source, key } = endpointOf(url);
    return receive({ source, key, method, address, header, headerNames, body });
  };
}

const STOPPING = rejection("stopping", "This hub is shutting down; send the event again.", {
  retryAfter: 5,
});

const isCallback = (url: string): boolean =>
  url.startsWith(TRIGGER_CALLBACK) &&
  (url.length === TRIGGER_CALLBACK.length || url[TRIGGER_CALLBACK.length] === "?");

/**
 * Parses `/webhooks/SOURCE` or `/webhooks/SOURCE/KEY`. Any other path gets an unknown source, which
 * is rejected.
 */
function endpointOf(url: string): { source: string; key: string | undefined } {
  const end = url.indexOf("?");
  const segments = url.slice(WEBHOOKS.length, end < 0 ? undefined : end).split("/");
  return segments.length > 2
    ? { source: "", key: undefined }
    : { source: segments[0] as string, key: segments[1] || undefined };
}
