import { lookup as systemLookup } from "node:dns/promises";
import { validateHeaderValue } from "node:http";
import { isIP } from "node:net";
import {
  type GuardedFetch,
  OutboundError,
  type OutboundRequest,
} from "@signalbox/rules/flows/outbound.ts";
import { type AllowPrivate, createAddressRules } from "../../deliver/address-rules.ts";
import { parseOutboundUrl } from "../../deliver/outbound-url.ts";
import { type Hop, nextHop } from "../../deliver/redirect.ts";
import { outboundFailure } from "./outbound-failure.ts";
import { bareHost, openPinned } from "./pinned-request.ts";

export interface GuardedFetchOptions {
  allowPrivate: AllowPrivate;
  /** All addresses of a name; by default from the system's resolver. */
  lookup?: (host: string) => Promise<readonly string[]>;
  /** Certificate authorities in PEM, instead of Node's list. */
  ca?: string;
}

/**
 * A fetch that does not reach private networks. Each hop resolves its name once, checks all addresses,
 * and connects to those addresses: a second lookup could return others (DNS rebinding).
 */
export function createGuardedFetch({
  allowPrivate,
  lookup = allAddresses,
  ca,
}: GuardedFetchOptions): GuardedFetch {
  const checkAddress = createAddressRules(allowPrivate);

  /** One forbidden address rejects the name, since any of its addresses may be used. */
  async function checkedAddresses(url: URL): Promise<readonly string[]> {
    const host = bareHost(url);
    const addresses = isIP(host) ? [host] : await resolve(host);
    for (const address of addresses) {
      const problem = checkAddress(address);
      if (problem === undefined) continue;
      throw new OutboundError(
        "address_refused",
        `${host} ${address === host ? "is" : "resolves to"} ${problem}, which the hub does not call. To allow it, add the address or its network to SIGNALBOX_ALLOW_PRIVATE.`,
      );
    }
    return addresses;
  }

  async function resolve(host: string): Promise<readonly string[]> {
    const failed = (reason: string, cause?: unknown) =>
      new OutboundError(
        "dns_failed",
        `The name ${host} does not resolve (${reason}). Check its spelling, and the DNS server of the hub.`,
        { cause },
      );
    const addresses = await lookup(host).catch((error: NodeJS.ErrnoException) => {
      throw failed(error.code ?? error.message, error);
    });
    if (addresses.length === 0) throw failed("no addresses");
    return addresses;
  }

  return async (request) => {
    const { redirects = 0, allowHttp = false, maxResponseBytes } = request;
    let hop = firstHop(request);
    const stop = createStop(request, () => hop.url.host);
    try {
      for (let followed = 0; ; followed += 1) {
        stop.signal.throwIfAborted();
        const addresses = await unlessStopped(stop.signal, checkedAddresses(hop.url));
        const exchange = await openPinned(hop, addresses, { signal: stop.signal, ca });
        try {
          const { status, headers } = exchange;
          const next = redirects > 0 ? nextHop(hop, status, headers, { allowHttp }) : undefined;
          if (!next)
            return {
              status,
              headers,
              body: await exchange.read(maxResponseBytes),
              url: hop.url.href,
            };
          if (followed === redirects)
            throw new OutboundError(
              "too_many_redirects",
              `${hop.url.host} exceeds the limit of ${redirects} redirects. Call the final address directly.`,
            );
          hop = next;
        } finally {
          exchange.close();
        }
      }
    } catch (error) {
      // The reason of an abort explains more than the error that the abort caused.
      throw stop.signal.aborted ? stop.signal.reason : outboundFailure(error, hop.url);
    } finally {
      stop.clear();
    }
  };
}

/** Node fires timers with a longer delay immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A signal for the time limit and the caller's abort; its reason is the error to throw. */
function createStop({ signal, timeoutMs }: OutboundRequest, host: () => string) {
  const stop = new AbortController();
  const onTimeout = () =>
    stop.abort(
      new OutboundError(
        "timeout",
        `${host()} sent no complete response within ${timeoutMs / 1000} s. Make it faster, or raise the time limit.`,
      ),
    );
  const onAbort = () =>
    stop.abort(
      new OutboundError("aborted", `The call to ${host()} was cancelled.`, {
        cause: signal?.reason,
      }),
    );
  const timer = setTimeout(onTimeout, Math.min(timeoutMs, MAX_TIMER_MS));
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();
  return {
    signal: stop.signal,
    clear() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

const allAddresses = async (host: string) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);

/** The HTTP client sets these itself. With `expect`, Node would wait for a 100 Continue. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function firstHop({ method, url, headers, body, allowHttp = false }: OutboundRequest): Hop {
  const target = parseOutboundUrl(url, { allowHttp });
  const invalid = (reason: string, cause?: unknown) =>
    new OutboundError(
      "invalid_request",
      `The request to ${target.host} cannot be sent: ${reason}.`,
      {
        cause,
      },
    );
  if (!/^[A-Z-]{1,20}$/i.test(method) || /^(CONNECT|TRACE|TRACK)$/i.test(method))
    throw invalid("the method must be one such as GET or POST");
  try {
    const sent = new Headers({ "accept-encoding": "gzip, br", "user-agent": "signalbox" });
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderValue(name, value); // stricter than Headers; Node would throw the error later
      sent.set(name, value);
    }
    for (const name of CONNECTION_HEADERS) sent.delete(name);
    return { method: method.toUpperCase(), url: target, headers: sent, body };
  } catch (error) {
    throw invalid((error as Error).message, error);
  }
}

function unlessStopped<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    work.then(resolve, reject);
  });
}
