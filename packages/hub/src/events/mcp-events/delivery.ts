/**
 * Delivers the events of one subscription. It follows the logs from the subscription's position, sends
 * the events one by one, and advances the position when the endpoint has accepted an event or the event
 * is skipped. Only a few events are in memory; the others stay in the log until they can be sent.
 */

import { backoffMs } from "@signalbox/rules/backoff.ts";
import { grants, isActive } from "../../kernel/access/authorizer.ts";
import type { GrantedToken, TokenLookup } from "../../kernel/access/scopes.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import type { Semaphore } from "../../kernel/lib/semaphore.ts";
import { elapsedSince, type Instant, instant, type Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { encodeCursor } from "../inbox/cursor.ts";
import type { Feed, Follower } from "../live/feed.ts";
import type { EventRow } from "../model.ts";
import { matchesFilter, toEventFilter } from "./event-types.ts";
import type { DeliveryProgress, Subscription } from "./model.ts";
import type { Envelope } from "./protocol.ts";
import { toOccurrence } from "./read-log.ts";
import {
  type Endpoint,
  type PostWebhook,
  type SendResult,
  sendFailure,
  sendWebhook,
} from "./webhook.ts";

export type DeliveryOutcome = "delivered" | "failed" | "skipped" | "gone" | "terminated";

export interface DeliveryContext {
  store: Pick<Store, "findSubscription" | "removeSubscription" | "getPayload" | "getLogId">;
  /** Finds the token of a subscription's principal. */
  tokens: Pick<TokenLookup, "getToken">;
  feed: Feed;
  post: PostWebhook;
  unseal: Seal["unseal"];
  /** Resolves when the progress is saved, or with false if this process has lost the lease. */
  record(progress: DeliveryProgress): Promise<boolean>;
  /** Limits the concurrent requests of each principal. */
  slots: Pick<Semaphore, "acquire">;
  /** The id of this process in leases. */
  by: string;
  now: () => number;
  monotonic: Timers["monotonic"];
  after: Timers["after"];
  random: () => number;
  /** The time after which an event that cannot be delivered is skipped. */
  retryPeriodMs: number;
  onOutcome(outcome: DeliveryOutcome, subscription: string): void;
  onError(error: unknown): void;
}

export interface Delivery {
  /** Terminates the subscription if it has expired or its token is no longer valid; see `isUnconfirmed`. */
  check(): Promise<void>;
  /** Advances the saved position past events that do not match, so that their removal is no gap. */
  savePosition(): Promise<void>;
  /** Stops because another process holds the lease. Does not abort a `terminated` message. */
  release(): void;
  /** Aborts the request in progress. Resolves when no request or write is in progress. */
  stop(): Promise<void>;
}

const MAX_QUEUED = 16;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 15 * 60_000;
const MAX_STORE_RETRY_MS = 30_000;
/** How often a paused subscription is checked; see `isUnconfirmed`. */
const UNCONFIRMED_MS = 30_000;

interface QueuedEvent {
  event: EventRow;
  /** The subscription's positions after the event. */
  positions: Record<string, number>;
}

export async function openDelivery(
  initial: Subscription,
  context: DeliveryContext,
  onStopped: () => void,
): Promise<Delivery> {
  const { store, feed, now, record, onError } = context;
  const { id, principal, tenants } = initial;
  const filter = toEventFilter(initial.name, initial.arguments);
  const logId = await store.getLogId();
  const progress: DeliveryProgress = {
    id,
    positions: initial.positions,
    gap: initial.gap,
    attempt: initial.attempt,
    failing_since: initial.failing_since,
    next_at: initial.next_at,
    last_error: initial.last_error,
    delivered_at: initial.delivered_at,
  };
  const queue: QueuedEvent[] = [];
  const abort = new AbortController();
  /** The pause before the next attempt, if this process has made the last attempt. */
  let pause: { since: Instant; ms: number } | undefined;
  let follower: Follower | undefined;
  let cancelTimer = () => {};
  let activeRun: Promise<void> | undefined;
  let isSleeping = false;
  let storeFailures = 0;
  let lastSave = Promise.resolve();
  let hasUnsaved = false;
  let hasEnded = false;

  const cursorAt = (positions: Record<string, number>) =>
    encodeCursor(new Map(Object.entries(positions)), tenants, logId);
  const retryMs = (failures: number, maxMs: number) =>
    backoffMs(failures, { firstMs: FIRST_RETRY_MS, maxMs, random: context.random });

  /** Prevents further attempts, but does not abort the one in progress. */
  const end = () => {
    hasEnded = true;
    queue.length = 0;
    cancelTimer();
    follower?.stop();
  };
  /** Ends, and aborts the attempt in progress. */
  const halt = () => {
    if (abort.signal.aborted) return;
    end();
    abort.abort();
    onStopped();
  };

  /** Attempts do not wait until the progress is saved, so a crash may cause a few events to be resent. */
  const saveProgress = () => {
    lastSave = record(progress).then(
      (holdsLease) => {
        hasUnsaved = false;
        if (!holdsLease) halt();
      },
      (error: unknown) => {
        hasUnsaved = true;
        onError(error);
      },
    );
  };

  const send = (endpoint: Endpoint, message: Parameters<PostWebhook>[1]): Promise<SendResult> =>
    sendWebhook(context.post, endpoint, message, { signal: abort.signal, now });

  const endpointOf = async (subscription: Subscription): Promise<Endpoint> => {
    const { secret, former_secret, former_until } = subscription;
    const former = former_secret !== null && (former_until ?? 0) > now() ? [former_secret] : [];
    const secrets = await Promise.all([secret, ...former].map(context.unseal));
    return { subscription: id, url: subscription.url, secrets };
  };

  /** Returns false if the subscription was refreshed meanwhile: its client expects it to continue. */
  const remove = async ({ updated_at }: Subscription, outcome: "gone" | "terminated") => {
    if (!(await store.removeSubscription(id, updated_at))) return false;
    context.onOutcome(outcome, id);
    end();
    return true;
  };
  const terminate = async (subscription: Subscription, ending: Ending) => {
    if (!(await remove(subscription, "terminated"))) return;
    // Sent once and not retried: the subscription no longer exists.
    await endpointOf(subscription)
      .then((endpoint) => send(endpoint, { type: "terminated", ...ending }))
      .catch(onError);
    halt();
  };

  /**
   * Reads the current subscription, and terminates it if it must end. Returns undefined if it has ended
   * or another process has leased it, and "unconfirmed" if nothing may be delivered now.
   */
  const readSubscription = async () => {
    const subscription = await store.findSubscription(id);
    const token = await context.tokens.getToken(principal);
    if (hasEnded) return undefined;
    if (subscription?.leased_by !== context.by) return void halt();
    if (isUnconfirmed(token, now())) return "unconfirmed";
    const ending = endingOf(subscription, token, now());
    if (!ending) return subscription;
    return void (await terminate(subscription, ending));
  };

  const scheduleRetry = (reason: string, retryAfterMs: number) => {
    context.onOutcome("failed", id);
    progress.attempt += 1;
    progress.failing_since ??= now();
    progress.last_error = reason.slice(0, 500);
    const ms = Math.max(retryMs(progress.attempt, MAX_RETRY_MS), retryAfterMs);
    pause = { since: instant(context), ms };
    progress.next_at = now() + ms;
  };
  const skip = (positions: Record<string, number>) => {
    context.onOutcome("skipped", id);
    queue.shift();
    progress.positions = positions;
    progress.gap = true;
  };
  const resetFailures = () => {
    pause = undefined;
    progress.attempt = 0;
    progress.failing_since = null;
    progress.next_at = 0;
    progress.last_error = null;
  };

  const sendNext = async (
    subscription: Subscription,
    { event, positions }: QueuedEvent,
  ): Promise<SendResult> => {
    try {
      const endpoint = await endpointOf(subscription);
      if (progress.gap) {
        const message = "Events were skipped or removed before they could be delivered.";
        const gap = { type: "gap" as const, cursor: cursorAt(progress.positions), message };
        const sent = await send(endpoint, gap);
        if (sent.result === "failed" || sent.result === "gone") return sent;
        progress.gap = false;
      }
      return await send(endpoint, await toOccurrence(store, event, cursorAt(positions)));
    } catch (error) {
      // The secret could not be decrypted, or the payload could not be read.
      onError(error);
      return sendFailure("The hub could not prepare the message.");
    }
  };

  /** One attempt to send the next event. */
  const attempt = async (): Promise<void> => {
    const subscription = await readSubscription();
    const [next] = queue;
    if (!subscription || !next || hasEnded) return;
    if (subscription === "unconfirmed") {
      pause = { since: instant(context), ms: UNCONFIRMED_MS };
      progress.failing_since = null; // the pause is not part of the retry period
      return;
    }
    const sent = await sendNext(subscription, next);
    if (abort.signal.aborted && sent.result === "failed") return;
    switch (sent.result) {
      case "accepted":
        queue.shift();
        progress.positions = next.positions;
        resetFailures();
        progress.delivered_at = now();
        context.onOutcome("delivered", id);
        break;
      case "gone":
        if (await remove(subscription, "gone")) return halt();
        scheduleRetry("The endpoint returned 410.", 0);
        break;
      case "too_large":
        resetFailures();
        skip(next.positions);
        break;
      case "failed": {
        scheduleRetry(sent.reason, sent.retryAfterMs);
        const since = Math.max(progress.failing_since ?? now(), next.event.received_at);
        if (now() - since >= context.retryPeriodMs) skip(next.positions);
      }
    }
    saveProgress();
  };

  const sleep = (ms: number) => {
    isSleeping = true;
    cancelTimer();
    cancelTimer = context.after(ms, work);
  };
  const run = async (): Promise<void> => {
    try {
      while (queue.length > 0 && !hasEnded) {
        const delayMs = pause
          ? pause.ms - elapsedSince(context, pause.since)
          : progress.next_at - now();
        if (delayMs > 0) return sleep(delayMs);
        const release = await context.slots.acquire(principal);
        await attempt().finally(release);
        storeFailures = 0;
      }
      follower?.resume();
    } catch (error) {
      onError(error); // only the store throws here
      storeFailures += 1;
      if (!hasEnded) sleep(retryMs(storeFailures, MAX_STORE_RETRY_MS));
    }
  };
  function work(): void {
    if (activeRun || hasEnded) return;
    isSleeping = false;
    activeRun = run().finally(() => {
      activeRun = undefined;
      // An event may have been queued after the loop of `run` had ended.
      if (queue.length > 0 && !isSleeping) work();
    });
  }

  if (filter)
    follower = await feed.follow({
      tenants,
      after: new Map(Object.entries(initial.positions)),
      filter: { source: filter.source, type: filter.type },
      sink: {
        event(event, cursor) {
          if (!matchesFilter(event, filter)) return;
          queue.push({ event, positions: Object.fromEntries(cursor) });
          work();
        },
        truncated: () => {
          progress.gap = true;
        },
        isFull: () => queue.length >= MAX_QUEUED,
      },
    });
  if (hasEnded) follower?.stop();

  return {
    async check() {
      if (!activeRun) await readSubscription();
    },
    async savePosition() {
      if (!follower || activeRun || hasEnded || queue.length > 0) return;
      const positions = Object.fromEntries(follower.cursor);
      if (!hasUnsaved && JSON.stringify(positions) === JSON.stringify(progress.positions)) return;
      progress.positions = positions;
      saveProgress();
      await lastSave;
    },
    release() {
      if (!hasEnded) halt();
    },
    async stop() {
      halt();
      await activeRun;
      await lastSave;
    },
  };
}

type Ending = Omit<Extract<Envelope, { type: "terminated" }>, "type">;

/**
 * Whether GitHub has not confirmed the memberships of the token's person for too long. It is unknown
 * whether the person still has access, so the subscription is paused: it stays at its position. It does
 * not expire, because its client cannot refresh it.
 */
const isUnconfirmed = (token: GrantedToken | undefined, now: number): boolean =>
  token?.roles === "unconfirmed" && isActive(token, now);

/** Why the subscription ends; undefined if it continues. */
function endingOf(
  { expires_at, tenants }: Subscription,
  token: GrantedToken | undefined,
  now: number,
): Ending | undefined {
  if (expires_at <= now)
    return { reason: "expired", message: "The subscription was not refreshed in time." };
  if (!grants(token, { tenants, scopes: ["inbox:read"] }, now))
    return { reason: "forbidden", message: "The token of the subscription is no longer valid." };
  return undefined;
}
