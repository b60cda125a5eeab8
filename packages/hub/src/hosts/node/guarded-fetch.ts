import { validateHeaderValue } from "node:http";
import {
  type GuardedFetch,
  OutboundError,
  type OutboundRequest,
} from "@signalbox/rules/flows/outbound.ts";
import {
  CONNECTION_HEADERS,
  type Hop,
  nextHop,
  parseOutboundUrl,
} from "../../kernel/outbound/request-rules.ts";
import {
  type AddressOptions,
  bareHost,
  createResolveHost,
  openPinned,
  outboundFailure,
} from "./pinned-request.ts";

export interface GuardedFetchOptions extends AddressOptions {
  /** Certificate authorities in PEM, instead of Node's list. */
  ca?: string;
}

/**
 * Creates a fetch that does not reach private networks. Each hop resolves its name once, checks all
 * addresses, and connects to those addresses: a second lookup could return others (DNS rebinding).
 */
export function createGuardedFetch({ ca, ...options }: GuardedFetchOptions): GuardedFetch {
  const resolveHost = createResolveHost(options);

  return async (request) => {
    const { redirects = 0, allowHttp = false, maxResponseBytes } = request;
    let hop = firstHop(request);
    const stop = createStopSignal(request, () => hop.url.host);
    try {
      for (let followed = 0; ; followed += 1) {
        stop.signal.throwIfAborted();
        const addresses = await rejectOnAbort(stop.signal, resolveHost(bareHost(hop.url)));
        const exchange = await openPinned(hop, addresses, {
          signal: stop.signal,
          ca,
          // Not for redirects: if it threw there, the first request would already have been sent.
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

/** Creates a signal that the time limit or the caller aborts. Its reason is the error to throw. */
function createStopSignal({ signal, timeoutMs }: OutboundRequest, host: () => string) {
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
    throw invalid("the method must be an HTTP method such as GET or POST");
  try {
    const outgoing = new Headers({ "accept-encoding": "gzip, br", "user-agent": "signalbox" });
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderValue(name, value); // stricter than Headers; Node would throw only when it sends
      outgoing.set(name, value);
    }
    for (const name of CONNECTION_HEADERS) outgoing.delete(name);
    return { method: method.toUpperCase(), url: target, headers: outgoing, body };
  } catch (error) {
    throw invalid((error as Error).message, error);
  }
}

function rejectOnAbort<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    work.then(resolve, reject);
  });
}
