/**
 * Delivers the events of the outbox until their receivers have accepted them: in order for each
 * subscription, and with bounded concurrency. The storage is the queue; this module only has the
 * deliveries in flight.
 */
import { attemptDelivery } from "./deliver.ts";
import type { JsonObject } from "./json.ts";
import type { Delivery, NewDelivery, StoredSubscription, TriggerStorage } from "./storage.ts";
import { TriggerError } from "./trigger-error.ts";

interface PendingEvent {
  connectionId: string;
  subscriptionId: string | null;
  id: string;
  type: string;
  data: JsonObject;
  /** Why the last attempt failed. */
  message: string;
}

/** `rejected`: the receiver will never accept it. `expired`: it could not be delivered within `keepMs`. */
export type DroppedEvent = PendingEvent & { reason: "rejected" | "expired" };

export type RetriedEvent = PendingEvent & { attempt: number; nextAt: Date };

export interface OutboxOptions {
  storage: TriggerStorage;
  fetch: typeof fetch;
  waitUntil: ((promise: Promise<unknown>) => void) | undefined;
  concurrency: number;
  timeoutMs: number;
  retry: { firstMs: number; maxMs: number };
  keepMs: number;
  maxPending: number;
  now: () => number;
  random: () => number;
  onDropped: (event: DroppedEvent) => unknown;
  onRetry: (event: RetriedEvent) => unknown;
  onError: (error: unknown) => void;
  /** Called when the receiver has returned 410 and the subscription was deleted. */
  onGone: (subscription: StoredSubscription) => Promise<void>;
}

export interface Outbox {
  /**
   * Resolves when the deliveries are stored. `delivered` resolves when none of them is pending any more;
   * with a durable storage, it has already resolved.
   */
  add(deliveries: readonly NewDelivery[]): Promise<{ delivered: Promise<void> }>;
  /** Starts the deliveries that are due. */
  wake(): void;
  /** Resolves when no delivery is due or in flight. */
  settle(): Promise<void>;
  /** Ends the waiting of `notify` for a subscription that was removed with its deliveries. */
  resolveWaiters(subscription: Pick<StoredSubscription, "connectionId" | "key">): void;
  close(): Promise<void>;
}

/** The delay after an error of the storage. */
const STORAGE_RETRY_MS = 1000;
/** `setTimeout` fires immediately for longer delays. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createOutbox(options: OutboxOptions): Outbox {
  const { storage, now } = options;
  const inFlight = new Set<Promise<void>>();
  const waiters = createWaiters();
  /** The `seq` of each delivery that is complete but not removed from the storage yet. */
  let completed: number[] = [];
  let pumping = Promise.resolve();
  let isPumping = false;
  let isRequested = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  /** Starts `pump`, or makes it run again if it is running. */
  function requestPump(): void {
    if (isClosed) return;
    isRequested = true;
    if (isPumping) return;
    isPumping = true;
    pumping = pump();
  }

  /** Claims due deliveries up to the concurrency limit, and sets the timer for the next one. */
  async function pump(): Promise<void> {
    try {
      while (isRequested && !isClosed) {
        isRequested = false;
        const limit = options.concurrency - inFlight.size;
        if (limit <= 0) continue; // the end of a delivery requests it again
        const claimed = await claim(limit);
        for (const delivery of claimed) start(delivery);
        if (claimed.length === limit) continue;
        const { nextAt } = await storage.pending();
        if (nextAt !== undefined) sleepUntil(nextAt);
      }
    } catch (error) {
      options.onError(error);
      sleepUntil(now() + STORAGE_RETRY_MS);
    } finally {
      isPumping = false;
    }
  }

  async function claim(limit: number): Promise<Delivery[]> {
    const at = now();
    // The claim must not end before the delivery, which makes up to two attempts.
    const until = at + 2 * options.timeoutMs + STORAGE_RETRY_MS;
    const delivered = completed;
    completed = [];
    try {
      return await storage.claimDue({ now: at, until, limit, delivered });
    } catch (error) {
      completed = [...delivered, ...completed];
      throw error;
    }
  }

  function sleepUntil(at: number): void {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(requestPump, Math.min(Math.max(at - now(), 1), MAX_TIMER_MS));
  }

  function start(delivery: Delivery): void {
    const work = deliver(delivery)
      .catch(options.onError)
      .finally(() => {
        inFlight.delete(work);
        requestPump();
      });
    inFlight.add(work);
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const { connectionId, subscription: key } = delivery;
    let subscription = await storage.getSubscription(connectionId, key);
    if (!subscription) return finish(delivery);
    let result = await attemptDelivery(delivery, subscription, options);
    if (result.outcome === "unauthorized" || result.outcome === "gone") {
      // The client may have sent another token while the request was in flight.
      const current = await storage.getSubscription(connectionId, key);
      if (!current) return finish(delivery);
      if (current.callbackToken !== subscription.callbackToken) {
        subscription = current;
        result = await attemptDelivery(delivery, current, options);
      }
    }
    switch (result.outcome) {
      case "delivered":
        completed.push(delivery.seq);
        return waiters.settle(delivery);
      case "rejected":
        return drop(delivery, subscription, "rejected", result.message);
      case "gone": {
        const { callbackToken } = subscription;
        const removed = await storage.removeSubscription(connectionId, key, callbackToken);
        if (!removed) return retry(delivery, subscription, "HTTP 410 for a former token");
        waiters.resolveAll(removed);
        return options.onGone(removed);
      }
      case "unauthorized":
      case "failed":
        return now() - delivery.createdAt < options.keepMs
          ? retry(delivery, subscription, result.message, result.retryAfterMs)
          : drop(delivery, subscription, "expired", result.message);
    }
  }

  async function retry(
    delivery: Delivery,
    subscription: StoredSubscription,
    message: string,
    atLeastMs = 0,
  ): Promise<void> {
    const { firstMs, maxMs } = options.retry;
    const attempt = delivery.attempt + 1;
    // The exponent is limited, because the power would become infinite.
    const backoff = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 40));
    const delay = Math.round(backoff * (0.5 + options.random() / 2));
    const dueAt = now() + Math.max(delay, atLeastMs);
    await storage.postpone(delivery.seq, attempt, dueAt);
    const event = toPendingEvent(delivery, subscription, message);
    await callHook(options.onRetry, { ...event, attempt, nextAt: new Date(dueAt) });
  }

  async function finish(delivery: Delivery, error?: Error): Promise<void> {
    await storage.removeDelivery(delivery.seq);
    waiters.settle(delivery, error);
  }

  async function drop(
    delivery: Delivery,
    subscription: StoredSubscription,
    reason: DroppedEvent["reason"],
    message: string,
  ): Promise<void> {
    // The hook is called before the delivery is removed: a crash in between repeats the call.
    await callHook(options.onDropped, {
      ...toPendingEvent(delivery, subscription, message),
      reason,
    });
    await finish(delivery, new TriggerError("not_delivered", message));
  }

  async function callHook<Event>(hook: (event: Event) => unknown, event: Event): Promise<void> {
    try {
      await hook(event);
    } catch (error) {
      options.onError(error);
    }
  }

  async function settle(): Promise<void> {
    while (isPumping || inFlight.size > 0) await (isPumping ? pumping : Promise.race(inFlight));
  }

  function wake(): void {
    requestPump();
    options.waitUntil?.(settle());
  }

  return {
    wake,
    settle,
    resolveWaiters: waiters.resolveAll,

    async add(deliveries) {
      if (isClosed) throw new TriggerError("closed", "notify was called after close");
      const delivered = storage.isDurable ? Promise.resolve() : waiters.wait(deliveries);
      const pending = await storage.enqueue(deliveries, options.maxPending);
      for (const delivery of deliveries) if (!pending?.includes(delivery)) waiters.settle(delivery);
      if (!pending)
        throw new TriggerError(
          "outbox_full",
          `the outbox is full: at most ${options.maxPending} deliveries may be pending (option maxPending)`,
        );
      wake();
      return { delivered };
    },

    async close() {
      isClosed = true;
      clearTimeout(timer);
      await settle();
      for (const seq of completed) await storage.removeDelivery(seq);
      waiters.rejectAll(new TriggerError("closed", "closed before the event was delivered"));
      await storage.close?.();
    },
  };
}

function toPendingEvent(
  { id, type, body }: Delivery,
  { connectionId, subscriptionId }: StoredSubscription,
  message: string,
): PendingEvent {
  const { data } = JSON.parse(body) as { data: JsonObject };
  return { connectionId, subscriptionId, id, type, data, message };
}

/** Tracks the calls of `notify` that wait for deliveries, because the storage is not durable. */
function createWaiters() {
  const waiting = new Map<string, PromiseWithResolvers>();
  /** The map keys of all deliveries to a subscription start with this text. */
  const prefixOf = (connectionId: string, key: string) =>
    `${JSON.stringify([connectionId, key]).slice(0, -1)},`;
  const mapKeyOf = ({ connectionId, subscription, id }: NewDelivery) =>
    prefixOf(connectionId, subscription) + id;

  return {
    async wait(deliveries: readonly NewDelivery[]): Promise<void> {
      await Promise.all(
        deliveries.map((delivery) => {
          const waiter = waiting.get(mapKeyOf(delivery)) ?? withResolvers();
          waiting.set(mapKeyOf(delivery), waiter);
          return waiter.promise;
        }),
      );
    },
    settle(delivery: NewDelivery, error?: Error): void {
      const waiter = waiting.get(mapKeyOf(delivery));
      waiting.delete(mapKeyOf(delivery));
      if (error) waiter?.reject(error);
      else waiter?.resolve();
    },
    resolveAll({ connectionId, key }: Pick<StoredSubscription, "connectionId" | "key">): void {
      for (const [mapKey, { resolve }] of waiting)
        if (mapKey.startsWith(prefixOf(connectionId, key))) {
          waiting.delete(mapKey);
          resolve();
        }
    },
    rejectAll(error: Error): void {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
  };
}

interface PromiseWithResolvers {
  promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

/** Replaces `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers(): PromiseWithResolvers {
  let resolve = () => {};
  let reject = (_: Error) => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
