/** Computes what is recorded about a subscription after an attempt to reach its wanted state. */

import { backoffMs } from "@signalbox/rules/backoff.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { SubscriptionResult, TriggerSubscription } from "./model.ts";

/** A server may lose even stored subscriptions, so they are configured again after about this time. */
const RECONFIGURE_MS = 60 * 60_000;
/** After this time, the hub deletes a removed subscription even if its server has not confirmed that. */
const GIVE_UP_REMOVAL_MS = 24 * 60 * 60_000;
/** For subscriptions that need no work until they change. */
const NEVER = Number.MAX_SAFE_INTEGER;
const RETRY = { firstMs: 1_000, maxMs: 5 * 60_000 };

export interface ReconcileContext {
  now(): number;
  random(): number;
  /** The URL to which servers send callbacks. */
  callbackUrl: string;
}

/** Adds up to ±25 %, so that work that was due at the same time spreads. */
export const addJitter = (ms: number, random: () => number): number => ms * (0.75 + random() / 2);

/** The delay before the next attempt. */
export const retryMs = (failures: number, random: () => number): number =>
  backoffMs(failures, { ...RETRY, random });

/** Whether the server has confirmed the subscription, and sends its events by callback. */
export const isConfirmed = (subscription: TriggerSubscription): boolean =>
  subscription.wanted === "active" &&
  subscription.state === "active" &&
  subscription.configured === subscription.revision &&
  subscription.configured_type !== null;

/** Whether a restart of the server loses the subscription, so that every check configures it again. */
export const isVolatile = (subscription: TriggerSubscription): boolean =>
  isConfirmed(subscription) && subscription.position?.stored !== true;

export interface Confirmation {
  /** Whether the server keeps the subscription when it restarts. */
  isStored: boolean;
  /** The defaults that the server may assume, by param, although the trigger wants other values. */
  assumed: JsonObject;
}

/** The server has confirmed the wanted state. */
export function confirmedResult(
  { id, revision, wanted, type }: TriggerSubscription,
  { isStored, assumed }: Confirmation,
  { now, random, callbackUrl }: ReconcileContext,
): SubscriptionResult {
  const result = { id, revision, error: null, configured: revision, attempt: 0 };
  switch (wanted) {
    case "removed":
      return { id, revision, isRemoved: true };
    case "paused":
      return { ...result, state: "paused", configured_type: null, next_at: NEVER };
    case "active": {
      const next_at = isStored ? Math.round(now() + addJitter(RECONFIGURE_MS, random)) : NEVER;
      const position = {
        callbackUrl,
        ...(isStored && { stored: true }),
        ...(Object.keys(assumed).length > 0 && { assumed }),
      };
      return { ...result, state: "active", configured_type: type, position, next_at };
    }
  }
}

/** Without `isRejected`, `state` does not change, because the server may have executed the call. */
export function failedResult(
  { id, revision, wanted, attempt, updated_at }: TriggerSubscription,
  { error, isRejected }: { error: string; isRejected: boolean },
  { now, random }: ReconcileContext,
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
