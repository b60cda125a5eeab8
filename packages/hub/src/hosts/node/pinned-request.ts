/**
 * Sends requests to addresses that were resolved and checked before, so that a second lookup cannot return
 * others, and maps their failures to `OutboundError`.
 */

import { lookup as systemLookup } from "node:dns/promises";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, type Readable, type Transform } from "node:stream";
import { TLSSocket } from "node:tls";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { OutboundError } from "@signalbox/rules/flows/outbound.ts";
import { type AllowPrivate, createAddressRules } from "../../kernel/outbound/address-rules.ts";
import type { Hop } from "../../kernel/outbound/request-rules.ts";

export interface PinnedExchange {
  status: number;
  headers: Headers;
  /** Reads the decompressed body. Rejects if it exceeds `limit` bytes. */
  read(limit: number): Promise<Uint8Array>;
  /** Closes the connection, also if the body was not read. */
  close(): void;
}

export interface PinnedOptions {
  signal: AbortSignal;
  ca: string | undefined;
  /** Called when the connection is open. If it throws, nothing is sent. */
  beforeSend: (() => void) | undefined;
}

/** How long one of several addresses may take to connect before the next is tried. */
const ATTEMPT_MS = 1_000;

/**
 * Sends one request over a new connection to one of `addresses`. A pooled connection could lead to an
 * address that was not checked. The Host header and the certificate check use the host name.
 */
export async function openPinned(
  { method, url, headers, body }: Hop,
  addresses: readonly string[],
  { signal, ca, beforeSend }: PinnedOptions,
): Promise<PinnedExchange> {
  const host = bareHost(url);
  const isTls = url.protocol === "https:";
  const agentOptions = {
    lookup: fixedLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
  };
  const request = (isTls ? https : http).request({
    agent: isTls
      ? new https.Agent({ ...agentOptions, servername: serverName(host), ca })
      : new http.Agent(agentOptions),
    method,
    host,
    port: url.port,
    path: url.pathname + url.search,
    setHost: false,
    headers: {
      ...Object.fromEntries(headers),
      host: url.host,
      // Otherwise Node would send the body of a GET or DELETE without a length.
      ...(body ? { "content-length": String(body.byteLength) } : {}),
    },
    signal,
  });

  let isHandshaking = false;
  request.once("socket", (socket) => {
    socket.once("connect", () => {
      isHandshaking = isTls;
    });
    socket.once("secureConnect", () => {
      isHandshaking = false;
    });
  });

  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once("response", resolve);
    // This listener stays attached: a late error without a listener would crash the process.
    request.on("error", (error) => reject(isHandshaking ? tlsFailure(error, url) : error));
    request.once("close", () => reject(new Error("the connection was closed")));
    sendWhenOpen(request, body, beforeSend ?? (() => {}));
  });

  const decoder = decoderFor(method, response);
  return {
    status: response.statusCode ?? 0,
    headers: headersOf(response, decoder ? ["content-encoding", "content-length"] : []),
    async read(limit) {
      const chunks: Buffer[] = [];
      let size = 0;
      const decoded: Readable = decoder ? pipeline(response, decoder(), () => {}) : response;
      for await (const chunk of decoded as AsyncIterable<Buffer>) {
        size += chunk.byteLength;
        if (size > limit)
          throw new OutboundError(
            "too_large",
            `${url.host} returned more than ${limit} bytes. Request less data, or raise the limit.`,
          );
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    },
    close: () => request.destroy(),
  };
}

/** Sends the request when its connection is open. If `beforeSend` throws, nothing is sent. */
export function sendWhenOpen(
  request: http.ClientRequest,
  body: Uint8Array | undefined,
  beforeSend: () => void,
): void {
  const send = () => {
    try {
      beforeSend();
      request.end(body);
    } catch (error) {
      request.destroy(error as Error);
    }
  };
  // The socket connects before `end` is called, but sends nothing until then.
  request.once("socket", (socket) => {
    if (socket.connecting)
      socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", send);
    else send(); // a reused connection
  });
}

/** The host name; an IPv6 address without its brackets. */
export const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

/** SNI allows neither IP addresses nor a final dot. */
const serverName = (host: string): string => (isIP(host) ? "" : host.replace(/\.$/, ""));

/** A DNS lookup that always returns these addresses. */
const fixedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_, { all }, done) => {
    const records = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = records;
    if (all) done(null, records);
    else done(null, first?.address ?? "", first?.family);
  };

const DECODERS = new Map<string | undefined, () => Transform>([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Undefined for an empty body, which a decoder would report as incomplete. */
export function decoderFor(method: string, { statusCode, headers }: http.IncomingMessage) {
  const isEmpty =
    method === "HEAD" ||
    statusCode === 204 ||
    statusCode === 304 ||
    headers["content-length"] === "0";
  return isEmpty ? undefined : DECODERS.get(headers["content-encoding"]?.trim().toLowerCase());
}

export function headersOf(response: http.IncomingMessage, omitted: readonly string[]): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(response.headersDistinct))
    for (const value of values) headers.append(name, value);
  for (const name of omitted) headers.delete(name);
  return headers;
}

export interface AddressOptions {
  allowPrivate: AllowPrivate;
  /** Returns all addresses of a name; by default, the system's resolver is used. */
  lookup?: (host: string) => Promise<readonly string[]>;
}

/** Returns the addresses of a host, which is a name or an IP address without brackets. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

/**
 * Resolves a host and rejects it with an `OutboundError` if the hub must not call it. One forbidden
 * address rejects the name, since any of its addresses may be used.
 */
export function createResolveHost({
  allowPrivate,
  lookup = lookUpAll,
}: AddressOptions): ResolveHost {
  const checkAddress = createAddressRules(allowPrivate);
  /**
   * Concurrent lookups of one name share a result. Node has only four threads for lookups, so many
   * calls of a name whose DNS server does not respond would delay all other lookups.
   */
  const lookups = new Map<string, Promise<readonly string[]>>();

  function shareLookup(host: string): Promise<readonly string[]> {
    const pending = lookups.get(host) ?? resolveName(host).finally(() => lookups.delete(host));
    lookups.set(host, pending);
    return pending;
  }

  async function resolveName(host: string): Promise<readonly string[]> {
    const dnsError = (reason: string, cause?: unknown) =>
      new OutboundError(
        "dns_failed",
        `The name ${host} does not resolve (${reason}). Check its spelling, and the DNS server of the hub.`,
        { cause },
      );
    const addresses = await lookup(host).catch((error: NodeJS.ErrnoException) => {
      throw dnsError(error.code ?? error.message, error);
    });
    if (addresses.length === 0) throw dnsError("no addresses");
    return addresses;
  }

  return async (host) => {
    const addresses = isIP(host) ? [host] : await shareLookup(host);
    for (const address of addresses) {
      const problem = checkAddress(address);
      if (problem === undefined) continue;
      throw new OutboundError(
        "address_refused",
        `${host} ${address === host ? "is" : "resolves to"} ${problem}, which the hub does not call. To allow it, add the address or its network to SIGNALBOX_ALLOW_PRIVATE.`,
      );
    }
    return addresses;
  };
}

const lookUpAll = async (host: string) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);

interface SystemError extends NodeJS.ErrnoException {
  reason?: string;
  errors?: SystemError[];
}

export function tlsFailure(error: SystemError, url: URL): OutboundError {
  const reason = /SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1];
  return new OutboundError(
    "tls_error",
    `${url.host} failed the TLS handshake: ${reason ?? error.reason ?? error.message}. Check that it supports TLS on this port, with a certificate that is valid for this name.`,
    { cause: error },
  );
}

/**
 * The messages of Node's system errors contain addresses, so users see only the code of such an error; its
 * message is in `cause`.
 */
export function outboundFailure(error: unknown, url: URL): OutboundError {
  if (error instanceof OutboundError) return error;
  const cause: SystemError = error instanceof Error ? error : new Error(String(error));
  // An AggregateError has one error for each address that was tried.
  const codes = (cause.errors ?? [cause]).map(({ code }) => code);
  const { host, hostname, port, protocol } = url;

  if (cause.code?.match(/^ERR_(SSL|TLS)_/)) return tlsFailure(cause, url);
  if (codes.includes("ECONNREFUSED"))
    return new OutboundError(
      "connection_refused",
      `${hostname} refuses connections on port ${port || (protocol === "https:" ? 443 : 80)}. Check the port, and that the receiver is running.`,
      { cause },
    );
  if (codes.includes("ETIMEDOUT"))
    return new OutboundError(
      "timeout",
      `${host} could not be reached in time. Check that the receiver is running, and that no firewall blocks the connection.`,
      { cause },
    );
  return new OutboundError(
    "network",
    `${host} sent no complete response (${cause.code ?? cause.message}). Check the receiver, or try again later.`,
    { cause },
  );
}
