/**
 * Sends requests to URLs of users from a Worker. A Worker cannot resolve names, so only IP addresses and
 * `localhost` are checked. Other names need no check: on Cloudflare's network, `fetch` reaches only public
 * addresses, whatever a name resolves to.
 */
import {
  type GuardedFetch,
  OutboundError,
  type OutboundRequest,
} from "@signalbox/rules/flows/outbound.ts";
import ipaddr from "ipaddr.js";
import { concat } from "../../kernel/lib/bytes.ts";
import type { WebFetch } from "../../kernel/lib/web-fetch.ts";
import { type AllowPrivate, createAddressRules } from "../../kernel/outbound/address-rules.ts";
import {
  CONNECTION_HEADERS,
  type Hop,
  nextHop,
  parseOutboundUrl,
} from "../../kernel/outbound/request-rules.ts";

export interface GuardedFetchOptions {
  allowPrivate: AllowPrivate;
  fetch: typeof fetch;
}

/** Throws an `OutboundError` if the hub must not call the host. */
type CheckHost = (url: URL) => void;

function createCheckHost(allowPrivate: AllowPrivate): CheckHost {
  const checkAddress = createAddressRules(allowPrivate);
  return ({ hostname }) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const address = /^(.+\.)?localhost\.?$/.test(host) ? "127.0.0.1" : host;
    const problem = ipaddr.isValid(address) ? checkAddress(address) : undefined;
    if (problem !== undefined)
      throw new OutboundError(
        "address_refused",
        `${host} is ${problem}, which the hub does not call. To allow it, add the address or its network to SIGNALBOX_ALLOW_PRIVATE.`,
      );
  };
}

export function createGuardedFetch({ allowPrivate, fetch }: GuardedFetchOptions): GuardedFetch {
  const checkHost = createCheckHost(allowPrivate);
  return async (request) => {
    const { redirects = 0, allowHttp = false, timeoutMs, maxResponseBytes } = request;
    const timeout = AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS));
    const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
    let hop = firstHop(request);
    try {
      for (let followed = 0; ; followed += 1) {
        checkHost(hop.url);
        signal.throwIfAborted();
        if (followed === 0) request.beforeSend?.();
        const response = await send(fetch, hop, signal);
        const { status, headers } = response;
        const next = redirects > 0 ? nextHop(hop, status, headers, { allowHttp }) : undefined;
        if (!next) {
          const body = await readUpTo(response, maxResponseBytes, hop.url.host);
          return { status, headers: decodedHeaders(headers), body, url: hop.url.href };
        }
        await response.body?.cancel();
        if (followed === redirects)
          throw new OutboundError(
            "too_many_redirects",
            `${hop.url.host} exceeds the limit of ${redirects} redirects. Call the final address directly.`,
          );
        hop = next;
      }
    } catch (error) {
      const { host } = hop.url;
      if (request.signal?.aborted)
        throw new OutboundError("aborted", `The call to ${host} was cancelled.`, { cause: error });
      if (timeout.aborted)
        throw new OutboundError(
          "timeout",
          `${host} sent no complete response within ${timeoutMs / 1000} s. Make it faster, or raise the time limit.`,
        );
      throw outboundFailure(error, host);
    }
  };
}

const MAX_REDIRECTS = 5;
/** The maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Like `createGuardedFetch`, but with the signature of `fetch` and a streamed response. */
export function createGuardedWebFetch({
  allowPrivate,
  allowHttp,
  fetch,
}: GuardedFetchOptions & { allowHttp: boolean }): WebFetch {
  const checkHost = createCheckHost(allowPrivate);
  return async (input, init) => {
    const redirect = init?.redirect ?? (input instanceof Request ? input.redirect : "follow");
    // workerd does not accept the value "error", so the loop below implements it.
    const original = new Request(input, { ...init, redirect: "manual" });
    const { signal } = original;
    const body = original.body ? new Uint8Array(await original.arrayBuffer()) : undefined;
    let hop: Hop = {
      method: original.method,
      url: parseOutboundUrl(original.url, { allowHttp }),
      headers: outgoingHeaders(Object.fromEntries(original.headers)),
      body,
    };
    try {
      for (let followed = 0; ; followed += 1) {
        checkHost(hop.url);
        if (followed === 0) init?.beforeSend?.();
        const response = await send(fetch, hop, signal);
        const next =
          redirect === "manual"
            ? undefined
            : nextHop(hop, response.status, response.headers, { allowHttp });
        if (!next) return withDecodedHeaders(response);
        await response.body?.cancel();
        if (redirect === "error" || followed === MAX_REDIRECTS)
          throw new OutboundError(
            "too_many_redirects",
            `${hop.url.host} redirects to ${next.url.origin}${next.url.pathname}, which is not followed. Use the final address.`,
          );
        hop = next;
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : outboundFailure(error, hop.url.host);
    }
  };
}

const send = (fetch: typeof globalThis.fetch, hop: Hop, signal: AbortSignal): Promise<Response> =>
  fetch(hop.url.href, {
    method: hop.method,
    headers: hop.headers,
    redirect: "manual",
    signal,
    ...(hop.body && { body: new Uint8Array(hop.body) }),
  });

function firstHop({ method, url, headers, body, allowHttp = false }: OutboundRequest): Hop {
  const target = parseOutboundUrl(url, { allowHttp });
  if (!/^[A-Z-]{1,20}$/i.test(method) || /^(CONNECT|TRACE|TRACK)$/i.test(method))
    throw invalidRequest(target, "the method must be an HTTP method such as GET or POST");
  try {
    return { method: method.toUpperCase(), url: target, headers: outgoingHeaders(headers), body };
  } catch (error) {
    throw invalidRequest(target, (error as Error).message, error);
  }
}

const invalidRequest = ({ host }: URL, reason: string, cause?: unknown) =>
  new OutboundError("invalid_request", `The request to ${host} cannot be sent: ${reason}.`, {
    cause,
  });

function outgoingHeaders(requested: Readonly<Record<string, string>>): Headers {
  const headers = new Headers({ "user-agent": "signalbox", ...requested });
  for (const name of [...CONNECTION_HEADERS, "host"]) headers.delete(name);
  return headers;
}

/**
 * Removes the headers of the compressed body: the Worker's `fetch` has decompressed it. With the length of
 * the compressed body, callers would take a large response for a small one.
 */
function decodedHeaders(received: Headers): Headers {
  const headers = new Headers(received);
  if (headers.has("content-encoding"))
    for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return headers;
}

function withDecodedHeaders(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (!headers.has("content-encoding")) return response;
  return new Response(body, { status, statusText, headers: decodedHeaders(headers) });
}

async function readUpTo(response: Response, max: number, host: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > max)
      throw new OutboundError("too_large", `The response of ${host} exceeds ${max} bytes.`);
    chunks.push(chunk);
  }
  return concat(chunks);
}

/** The messages of workerd contain addresses, so users do not see them: they are only in `cause`. */
const outboundFailure = (error: unknown, host: string): OutboundError =>
  error instanceof OutboundError
    ? error
    : new OutboundError(
        "network",
        `${host} sent no complete response. Check the receiver, or try again later.`,
        { cause: error },
      );
