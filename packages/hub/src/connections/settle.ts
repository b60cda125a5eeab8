/** What is recorded about a subscription after an attempt to reach its wanted state. */
import { backoffMs } from "../lib/backoff.ts";
import type { SubscriptionResult, TriggerSubscription } from "../store/connection-store.ts";

/**
 * A server may forget its subscriptions without notice, so that active ones are configured again from
 * time to time, with a fresh token.
 */
const RECONFIGURE_MS = 60 * 60_000;
/** How long the hub tries to remove a subscription from its server before it only removes the row. */
const GIVE_UP_REMOVAL_MS = 24 * 60 * 60_000;
/** For subscriptions that need no work until they change. */
const NEVER = Number.MAX_SAFE_INTEGER;
const RETRY = { firstMs: 1_000, maxMs: 5 * 60_000 };

export interface SettleContext {
  now(): number;
  random(): number;
  /** Where servers send their events. */
  callbackUrl: string;
}

/** The delay before the next attempt, after so many failures. */
export const retryMs = (failures: number, random: () => number): number =>
  backoffMs(failures, { ...RETRY, random });

/** The server has confirmed the wanted state. */
export function settled(
  { id, revision, wanted, type }: TriggerSubscription,
  { now, random, callbackUrl }: SettleContext,
): SubscriptionResult {
  const result = { id, revision, error: null, configured: revision, attempt: 0 };
  switch (wanted) {
    case "removed":
      return { id, revision, isRemoved: true };
    case "paused":
      return { ...result, state: "paused", configured_type: null, next_at: NEVER };
    case "active": {
      const next_at = Math.round(now() + RECONFIGURE_MS * (0.75 + random() / 2));
      const position = { callbackUrl };
      return { ...result, state: "active", configured_type: type, position, next_at };
    }
  }
}

/** `state` does not change if it is unknown whether the server has executed the call. */
export function unsettled(
  { id, revision, wanted, attempt, updated_at }: TriggerSubscription,
  { error, isRejected }: { error: string; isRejected: boolean },
  { now, random }: SettleContext,
): SubscriptionResult {
  if (wanted === "removed" && now() - updated_at >= GIVE_UP_REMOVAL_MS)
    return { id, revision, isRemoved: true };
  return {
    id,
    revision,
    ...(isRejected && { state: "failed" }),
    error,
    attempt: attempt + 1,
    next_at: now() + retryMs(attempt + 1, random),
  };
}
