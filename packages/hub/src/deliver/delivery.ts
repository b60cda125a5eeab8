/**
 * The deliveries of one subscription: follows the logs from where it is, sends one event after
 * another, and comes further only when the endpoint has taken it. It holds a few
 * rows at the most; while the endpoint is slow or down, the log keeps the rest.
 */

import type { OutboundResponse } from "@signalbox/rules/flows/outbound.ts";
import { encodeCursor } from "../inbox/cursor.ts";
import { backoffMs } from "../lib/backoff.ts";
import type { Seal } from "../lib/seal.ts";
import type { Semaphore } from "../lib/semaphore.ts";
import type { DeliveryProgress, EventRow, Store, Subscription, Token } from "../store/store.ts";
import type { Feed, Follower } from "../stream/feed.ts";
import { grants } from "../tenants/authorizer.ts";
import type { Envelope, Occurrence } from "./events-draft.ts";
import { toOccurrence } from "./occurrence.ts";
import type { Endpoint, PostWebhook } from "./post-webhook.ts";
import { isWanted, toWanted } from "./wanted.ts";

export type DeliveryOutcome = "delivered" | "failed" | "skipped" | "gone" | "terminated";

export interface DeliveryContext {
  store: Pick<Store, "findSubscription" | "removeSubscription" | "getPayload" | "getLogId">;
  feed: Feed;
  post: PostWebhook;
  unseal: Seal["unseal"];
  /** Durable when it resolves; false where this process may not deliver it any more. */
  record(progress: DeliveryProgress): Promise<boolean>;
  /** Bounds the concurrent requests of each principal. */
  slots: Pick<Semaphore, "acquire">;
  /** The name of this process in leases. */
  by: string;
  now: () => number;
  /** Calls back after some time; answers with what prevents it. */
  after(ms: number, work: () => void): () => void;
  random: () => number;
  /** How long an event is tried before it is given up. */
  giveUpMs: number;
  onOutcome(outcome: DeliveryOutcome, subscription: string): void;
  onError(error: unknown): void;
}

export interface Delivery {
  /** Ends it where it has expired or its token is no longer good, also while there is nothing to send. */
  check(): Promise<void>;
  /** Keeps what was passed over, so that retention does not overtake a subscription that waits. */
  keepPlaces(): Promise<void>;
  /** It is not ours any more. A goodbye that is being said is said to its end. */
  letGo(): void;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

const MOST_WAITING = 16;
const FIRST_RETRY_MS = 1_000;
const MOST_RETRY_MS = 15 * 60_000;
const MOST_RETRY_AFTER_MS = 60 * 60_000;
const MOST_STORE_RETRY_MS = 30_000;

interface Waiting {
  event: EventRow;
  /** Where the subscription is once it is delivered. */
  places: Record<string, number>;
}

type Sent =
  | { result: "taken" | "gone" | "too_large" }
  | { result: "failed"; why: string; retryAfterMs: number };

export async function openDelivery(
  given: Subscription,
  context: DeliveryContext,
  onStopped: () => void,
): Promise<Delivery> {
  const { store, feed, post, now, record, onError } = context;
  const { id, principal, tenants } = given;
  const wanted = toWanted(given.name, given.arguments);
  const logId = await store.getLogId();
  const progress: DeliveryProgress = {
    id,
    places: given.places,
    gap: given.gap,
    attempt: given.attempt,
    failing_since: given.failing_since,
    next_at: given.next_at,
    last_error: given.last_error,
    delivered_at: given.delivered_at,
  };
  const waiting: Waiting[] = [];
  const abort = new AbortController();
  let follower: Follower | undefined;
  let cancelTimer = () => {};
  let working: Promise<void> | undefined;
  let troubles = 0;
  let recording = Promise.resolve();
  let unrecorded = false;
  let ended = false;

  const retryMs = (failures: number, mostMs: number) =>
    backoffMs(failures, { firstMs: FIRST_RETRY_MS, mostMs, random: context.random });

  /** Nothing is begun any more; a last word may still be under way. */
  const end = () => {
    ended = true;
    waiting.length = 0;
    cancelTimer();
    follower?.stop();
  };
  const halt = () => {
    if (abort.signal.aborted) return;
    end();
    abort.abort();
    onStopped();
  };

  /**
   * Not waited for: while it is written, the next event is on its way. A crash in between means that
   * a few are sent again, and never that one is lost.
   */
  const keep = () => {
    recording = record(progress).then(
      (held) => {
        unrecorded = false;
        if (!held) halt();
      },
      (error: unknown) => {
        unrecorded = true;
        onError(error);
      },
    );
  };

  const send = async (endpoint: Endpoint, message: Occurrence | Envelope): Promise<Sent> => {
    const failed = (why: string, retryAfterMs = 0): Sent => ({
      result: "failed",
      why,
      retryAfterMs,
    });
    try {
      const response = await post(endpoint, message, abort.signal);
      const { status } = response;
      if (status >= 200 && status < 300) return { result: "taken" };
      if (status === 410) return { result: "gone" };
      if (status === 413) return { result: "too_large" };
      return failed(`It answered ${status}.`, retryAfterMs(response, now()));
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error));
    }
  };

  const endpointOf = async (subscription: Subscription): Promise<Endpoint> => {
    const { secret, former_secret, former_until } = subscription;
    const former = former_secret !== null && (former_until ?? 0) > now() ? [former_secret] : [];
    const secrets = await Promise.all([secret, ...former].map(context.unseal));
    return { subscription: id, url: subscription.url, secrets };
  };

  /** False where it was refreshed since it was read: somebody was told that it goes on. */
  const remove = async ({ updated_at }: Subscription, outcome: "gone" | "terminated") => {
    if (!(await store.removeSubscription(id, updated_at))) return false;
    context.onOutcome(outcome, id);
    end();
    return true;
  };
  const terminate = async (subscription: Subscription, ending: Omit<Ending, "type">) => {
    if (!(await remove(subscription, "terminated"))) return;
    // Once, as a courtesy: whoever does not hear it will not be sent anything either.
    await endpointOf(subscription)
      .then((endpoint) => send(endpoint, { type: "terminated", ...ending }))
      .catch(onError);
    halt();
  };

  /** As it is now, or undefined where it is not ours to deliver any more. */
  const look = async () => {
    const found = await store.findSubscription(id);
    if (ended) return undefined;
    if (!found || found.subscription.leased_by !== context.by) return void halt();
    const ending = endingOf(found.subscription, found.token, now());
    if (!ending) return found.subscription;
    return void (await terminate(found.subscription, ending));
  };

  const failed = (why: string, retryAfterMs: number) => {
    context.onOutcome("failed", id);
    progress.attempt += 1;
    progress.failing_since ??= now();
    progress.last_error = why.slice(0, 500);
    progress.next_at = now() + Math.max(retryMs(progress.attempt, MOST_RETRY_MS), retryAfterMs);
  };
  const passOver = (places: Record<string, number>) => {
    context.onOutcome("skipped", id);
    waiting.shift();
    progress.places = places;
    progress.gap = true;
  };
  const answered = () => {
    progress.attempt = 0;
    progress.failing_since = null;
    progress.next_at = 0;
    progress.last_error = null;
  };

  const tellGap = (endpoint: Endpoint): Promise<Sent> => {
    const cursor = encodeCursor(new Map(Object.entries(progress.places)), tenants, logId);
    const message = "Events were given up or removed before they could be delivered.";
    return send(endpoint, { type: "gap", cursor, message });
  };
  const sendNext = async (
    subscription: Subscription,
    { event, places }: Waiting,
  ): Promise<Sent> => {
    try {
      const endpoint = await endpointOf(subscription);
      if (progress.gap) {
        const told = await tellGap(endpoint);
        if (told.result === "failed" || told.result === "gone") return told;
        progress.gap = false;
      }
      const cursor = encodeCursor(new Map(Object.entries(places)), tenants, logId);
      return await send(endpoint, await toOccurrence(store, event, cursor));
    } catch (error) {
      // A secret that does not open, or a payload that cannot be read, must not be tried in a circle.
      onError(error);
      return { result: "failed", why: "The hub could not make it ready.", retryAfterMs: 0 };
    }
  };

  /** One attempt at the event that is next. */
  const attempt = async (): Promise<void> => {
    const subscription = await look();
    const [next] = waiting;
    if (!subscription || !next || ended) return;
    const sent = await sendNext(subscription, next);
    if (abort.signal.aborted && sent.result === "failed") return;
    switch (sent.result) {
      case "taken":
        waiting.shift();
        progress.places = next.places;
        answered();
        progress.delivered_at = now();
        context.onOutcome("delivered", id);
        break;
      case "gone":
        if (await remove(subscription, "gone")) return halt();
        failed("It answered 410.", 0);
        break;
      case "too_large":
        answered();
        passOver(next.places);
        break;
      case "failed": {
        failed(sent.why, sent.retryAfterMs);
        const since = Math.max(progress.failing_since ?? now(), next.event.received_at);
        if (now() - since >= context.giveUpMs) passOver(next.places);
      }
    }
    keep();
  };

  let asleep = false;
  const sleep = (ms: number) => {
    asleep = true;
    cancelTimer();
    cancelTimer = context.after(ms, work);
  };
  const run = async (): Promise<void> => {
    try {
      while (waiting.length > 0 && !ended) {
        const wait = progress.next_at - now();
        if (wait > 0) return sleep(wait);
        const release = await context.slots.acquire(principal);
        await attempt().finally(release);
        troubles = 0;
      }
      follower?.resume();
    } catch (error) {
      onError(error); // of the store
      troubles += 1;
      if (!ended) sleep(retryMs(troubles, MOST_STORE_RETRY_MS));
    }
  };
  function work(): void {
    if (working || ended) return;
    asleep = false;
    working = run().finally(() => {
      working = undefined;
      // What came while it ended has found it at work.
      if (waiting.length > 0 && !asleep) work();
    });
  }

  if (wanted)
    follower = await feed.follow({
      tenants,
      after: new Map(Object.entries(given.places)),
      filter: { source: wanted.source, type: wanted.type },
      sink: {
        event(event, cursor) {
          if (!isWanted(event, wanted)) return;
          waiting.push({ event, places: Object.fromEntries(cursor) });
          work();
        },
        truncated: () => {
          progress.gap = true;
        },
        isFull: () => waiting.length >= MOST_WAITING,
      },
    });
  if (ended) follower?.stop();

  return {
    async check() {
      if (!working) await look();
    },
    async keepPlaces() {
      if (!follower || working || ended || waiting.length > 0) return;
      const places = Object.fromEntries(follower.cursor);
      if (!unrecorded && JSON.stringify(places) === JSON.stringify(progress.places)) return;
      progress.places = places;
      keep();
      await recording;
    },
    letGo() {
      if (!ended) halt();
    },
    async stop() {
      halt();
      await working;
      await recording;
    },
  };
}

type Ending = Extract<Envelope, { type: "terminated" }>;

function endingOf(
  { expires_at, tenants }: Subscription,
  token: Token | undefined,
  now: number,
): Omit<Ending, "type"> | undefined {
  if (expires_at <= now)
    return { reason: "expired", message: "The subscription was not refreshed in time." };
  if (!grants(token, { tenants, scopes: ["inbox:read"] }, now))
    return { reason: "forbidden", message: "The token of the subscription is no longer valid." };
  return undefined;
}

/** In seconds, or as a date. */
function retryAfterMs({ headers }: OutboundResponse, now: number): number {
  const given = headers.get("retry-after") ?? "";
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MOST_RETRY_AFTER_MS) : 0;
}
