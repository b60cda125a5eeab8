import { validateHeaderValue } from "node:http";
import {
  type GuardedFetch,
  OutboundError,
  type OutboundRequest,
} from "@signalbox/rules/flows/outbound.ts";
import { CONNECTION_HEADERS } from "../../deliver/connection-headers.ts";
import { parseOutboundUrl } from "../../deliver/outbound-url.ts";
import { type Hop, nextHop } from "../../deliver/redirect.ts";
import { type AddressOptions, createCheckedAddresses } from "./checked-addresses.ts";
import { outboundFailure } from "./outbound-failure.ts";
import { bareHost, openPinned } from "./pinned-request.ts";

export interface GuardedFetchOptions extends AddressOptions {
  /** Certificate authorities in PEM, instead of Node's list. */
  ca?: string;
}

/**
 * A fetch that does not reach private networks. Each hop resolves its name once, checks all addresses,
 * and connects to those addresses: a second lookup could return others (DNS rebinding).
 */
export function createGuardedFetch({ ca, ...options }: GuardedFetchOptions): GuardedFetch {
  const checkedAddresses = createCheckedAddresses(options);

  return async (request) => {
    const { redirects = 0, allowHttp = false, maxResponseBytes } = request;
    let hop = firstHop(request);
    const stop = createStop(request, () => hop.url.host);
    try {
      for (let followed = 0; ; followed += 1) {
        stop.signal.throwIfAborted();
        const addresses = await unlessStopped(stop.signal, checkedAddresses(bareHost(hop.url)));
        const exchange = await openPinned(hop, addresses, {
          signal: stop.signal,
          ca,
          // Only the first hop: a check that fails later could not undo it.
          beforeSend: followed === 0 ? request.beforeSend : undefined,
        });
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
