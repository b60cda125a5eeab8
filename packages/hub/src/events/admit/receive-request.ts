/**
 * Requests with webhooks, and with callbacks of MCP servers, independent of the host. `createReceiveRequest`
 * passes them to the pipeline: it finds the client's address behind trusted proxies, and reads the endpoint
 * from the path. While the hub is shutting down, it rejects every request.
 */

import { clientAddress, type TrustedProxy } from "../../kernel/http/addresses.ts";
import type { BodyBudget } from "../../kernel/http/byte-budgets.ts";
import { type IngestOutcome, type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { concat } from "../../kernel/lib/bytes.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";

/** A request to a webhook endpoint. The body is read on demand. */
export interface IncomingRequest {
  method: string;
  source: string;
  /** The key in the URL; undefined for the endpoint without a key. */
  key: string | undefined;
  /** Set for a sample that the hub itself sends, on behalf of a caller with access to this tenant. */
  sample?: { tenant: string };
  /** The client's address; behind a trusted proxy, the address from the proxy's header. */
  address: string;
  /** All values of a header; `name` is in lower case. */
  header(name: string): readonly string[];
  headerNames(): string[];
  /** Returns the whole body, or a rejection once it exceeds `limit` bytes. */
  body(limit: number): MaybePromise<Uint8Array | Rejection>;
}

export type CallbackRequest = Pick<IncomingRequest, "method" | "address" | "header" | "body">;

export const tooLarge = (limit: number): Rejection =>
  rejection("body_too_large", `The body exceeds the limit of ${limit} bytes.`);

export const incompleteBody = (): Rejection =>
  rejection("body_incomplete", "The connection closed before the end of the body.");

/**
 * Converts the `Request` of a host. The bytes of the body count towards the budget until `release` is
 * called.
 */
export function toIncomingRequest(
  request: Request,
  route: { source: string; key: string | undefined; address: string },
  budget?: BodyBudget,
): IncomingRequest & { release(): void } {
  let reserved = 0;
  return {
    ...route,
    method: request.method,
    header(name) {
      const value = request.headers.get(name);
      return value === null ? [] : [value];
    },
    headerNames: () => [...request.headers.keys()],
    async body(limit) {
      if (!request.body) return new Uint8Array();
      const chunks: Uint8Array[] = [];
      let size = 0;
      const reader = request.body.getReader();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          size += value.byteLength;
          const rejected =
            size > limit ? tooLarge(limit) : budget?.reserve(value.byteLength, reserved);
          if (rejected) {
            await reader.cancel();
            return rejected;
          }
          reserved = size;
          chunks.push(value);
        }
      } catch {
        return incompleteBody();
      }
      return chunks.length === 1 ? (chunks[0] as Uint8Array) : concat(chunks);
    },
    release: () => budget?.release(reserved),
  };
}

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
