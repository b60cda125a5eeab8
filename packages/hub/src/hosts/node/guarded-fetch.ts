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
  /** All addresses of a name; the system's resolver where not given. */
  lookup?: (host: string) => Promise<readonly string[]>;
  /** Whom to trust for https in place of Node's own list, in PEM. */
  ca?: string;
}

/**
 * Names are resolved once for each hop. The connection goes to the very addresses that were judged:
 * a name that answers differently when asked again (DNS rebinding) is never asked again.
 */
export function createGuardedFetch({
  allowPrivate,
  lookup = allAddresses,
  ca,
}: GuardedFetchOptions): GuardedFetch {
  const judge = createAddressRules(allowPrivate);

  /** One bad address refuses the name: which of them is used would be luck. */
  async function checkedAddresses(url: URL): Promise<readonly string[]> {
    const host = bareHost(url);
    const addresses = isIP(host) ? [host] : await resolve(host);
    for (const address of addresses) {
      const fault = judge(address);
      if (fault === undefined) continue;
      throw new OutboundError(
        "address_refused",
        `${host} ${address === host ? "is" : "resolves to"} ${fault}, which the hub does not call. If it is meant to, add that address or its network to SIGNALBOX_ALLOW_PRIVATE.`,
      );
    }
    return addresses;
  }

  async function resolve(host: string): Promise<readonly string[]> {
    const failed = (why: string, cause?: unknown) =>
      new OutboundError(
        "dns_failed",
        `The name ${host} does not resolve (${why}). Check its spelling, and that the hub's DNS knows it.`,
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
    const stop = stopFor(request, () => hop.url.host);
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
              `${hop.url.host} redirects once more after ${redirects} redirects. Call the final address itself.`,
            );
          hop = next;
        } finally {
          exchange.close();
        }
      }
    } catch (error) {
      // Whatever broke because of it, the reason to stop is the one to tell.
      throw stop.signal.aborted ? stop.signal.reason : outboundFailure(error, hop.url);
    } finally {
      stop.clear();
    }
  };
}

/** Beyond it, Node fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A signal for the call as a whole, with the error to end it by as its reason. */
function stopFor({ signal, timeoutMs }: OutboundRequest, host: () => string) {
  const stop = new AbortController();
  const onTimeout = () =>
    stop.abort(
      new OutboundError(
        "timeout",
        `${host()} gave no complete answer within ${timeoutMs / 1000} s. Make it answer sooner, or allow it more time.`,
      ),
    );
  const onAbort = () =>
    stop.abort(
      new OutboundError("aborted", `The call to ${host()} was cancelled.`, {
        cause: signal?.reason,
      }),
    );
  const timer = setTimeout(onTimeout, Math.min(timeoutMs, LONGEST_TIMER_MS));
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

/** The connection's own affair, as is `host`; `expect` would have Node wait for a go-ahead. */
const NOT_THE_CALLERS = new Set([
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
  const refuse = (why: string, cause?: unknown) =>
    new OutboundError("invalid_request", `The request to ${target.host} cannot be sent: ${why}.`, {
      cause,
    });
  if (!/^[A-Z-]{1,20}$/i.test(method) || /^(CONNECT|TRACE|TRACK)$/i.test(method))
    throw refuse("its method is not one such as GET or POST");
  try {
    const sent = new Headers({ "accept-encoding": "gzip, br", "user-agent": "signalbox" });
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderValue(name, value); // stricter than Headers, and later it would be too late
      sent.set(name, value);
    }
    for (const name of NOT_THE_CALLERS) sent.delete(name);
    return { method: method.toUpperCase(), url: target, headers: sent, body };
  } catch (error) {
    throw refuse((error as Error).message, error);
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
