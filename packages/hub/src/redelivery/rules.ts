/** Decides when the hub requests a redelivery, and when it gives up. */
import type { Redelivery } from "./model.ts";

const MINUTE_MS = 60_000;

/** GitHub lists and redelivers webhooks of the last three days. */
export const WINDOW_MS = 3 * 24 * 60 * MINUTE_MS;

const MAX_REQUESTS = 5;

/**
 * The delay until the next check: 15 minutes after the first request, then 1, 4 and 16 hours. After the
 * last request it is 15 minutes; then the hub gives up.
 */
export const delayAfter = (requests: number): number =>
  15 * MINUTE_MS * 4 ** (requests >= MAX_REQUESTS ? 0 : requests - 1);

/** GitHub redelivers only webhooks that failed after this time. */
export const oldestAt = (now: number): number => now - WINDOW_MS;

/** Returns why a redelivery is not requested again; undefined if it is requested. */
export function reasonToGiveUp(
  { requests, failed_at }: Pick<Redelivery, "requests" | "failed_at">,
  now: number,
): string | undefined {
  if (requests >= MAX_REQUESTS) return `It failed again after ${MAX_REQUESTS} redeliveries.`;
  if (failed_at <= oldestAt(now))
    return "It is older than three days, and GitHub no longer redelivers it.";
  return undefined;
}
