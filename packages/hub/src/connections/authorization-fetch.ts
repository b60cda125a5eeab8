import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { ConnectionError } from "./connection-error.ts";
import { limitBody } from "./limit-body.ts";

const MAX_RESPONSE_BYTES = 64 * 1024;
export const AUTHORIZATION_TIMEOUT_MS = 10_000;

/** Calls `work` with a `fetch` for an authorization server. All its requests share one time limit. */
export async function withAuthorizationFetch<Result>(
  { fetch, timers }: { fetch: WebFetch; timers: Pick<Timers, "after"> },
  work: (fetch: WebFetch) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const cancel = timers.after(AUTHORIZATION_TIMEOUT_MS, () =>
    stop.abort(
      new ConnectionError(
        "timeout",
        `The authorization server did not answer within ${AUTHORIZATION_TIMEOUT_MS / 1000} s.`,
      ),
    ),
  );
  const limited: WebFetch = async (url, init) =>
    limitBody(await fetch(url, { ...init, signal: stop.signal }), MAX_RESPONSE_BYTES, {
      onChunk: () => undefined,
      tooLarge: () =>
        new ConnectionError(
          "too_large",
          `The authorization server returned more than ${MAX_RESPONSE_BYTES} bytes.`,
        ),
    });
  try {
    return await work(limited);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    cancel();
  }
}
