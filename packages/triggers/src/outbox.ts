/**
 * Delivers what the storage holds: in order for each subscription, with a bounded concurrency, until
 * the receiver has accepted it. The storage is the queue; this only holds what is in flight.
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

/** `rejected`: the receiver will never accept it. `expired`: it could not be delivered in time. */
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
  /** The receiver has answered 410, and the subscription is deleted. */
  onGone: (subscription: StoredSubscription) => Promise<void>;
}

export interface Outbox {
  /** When this resolves, the deliveries are stored. `delivered` resolves when none is pending. */
  add(deliveries: readonly NewDelivery[]): Promise<{ delivered: Promise<void> }>;
  /** Starts what is due. */
  wake(): void;
  /** Resolves when nothing is due or in flight. */
  settle(): Promise<void>;
  /** The subscription was removed, and its deliveries with it. */
  forget(subscription: Pick<StoredSubscription, "connectionId" | "key">): void;
  close(): Promise<void>;
}

/** After an error of the storage. */
const STORAGE_RETRY_MS = 1000;
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createOutbox(options: OutboxOptions): Outbox {
  const { storage, now } = options;
  const inFlight = new Set<Promise<void>>();
  const waiters = createWaiters();
  /** Delivered, and not removed from the storage yet. */
  let delivered: number[] = [];
  let pumping = Promise.resolve();
  let isPumping = false;
  let again = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  function poke(): void {
    if (isClosed) return;
    again = true;
    if (isPumping) return;
    isPumping = true;
    pumping = pump();
  }

  /** Claims what is due while the concurrency allows it, and sets the timer for what is due later. */
  async function pump(): Promise<void> {
    try {
      while (again && !isClosed) {
        again = false;
        const limit = options.concurrency - inFlight.size;
        if (limit <= 0) continue; // The end of a delivery starts it again.
        const claimed = await claim(limit);
        for (const one of claimed) start(one);
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
    const until = at + 2 * options.timeoutMs + STORAGE_RETRY_MS;
    const done = delivered;
    delivered = [];
    try {
      return await storage.claimDue({ now: at, until, limit, delivered: done });
    } catch (error) {
      delivered = [...done, ...delivered];
      throw error;
    }
  }

  function sleepUntil(at: number): void {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(poke, Math.min(Math.max(at - now(), 1), MAX_TIMER_MS));
  }

  function start(one: Delivery): void {
    const work = deliver(one)
      .catch(options.onError)
      .finally(() => {
        inFlight.delete(work);
        poke();
      });
    inFlight.add(work);
  }

  async function deliver(one: Delivery): Promise<void> {
    const { connectionId, subscription: key } = one;
    let subscription = await storage.getSubscription(connectionId, key);
    if (!subscription) return finish(one);
    let result = await attemptDelivery(one, subscription, options);
    if (result.outcome === "unauthorized" || result.outcome === "gone") {
      // The client may have sent another token while the request was in flight.
      const current = await storage.getSubscription(connectionId, key);
      if (!current) return finish(one);
      if (current.callbackToken !== subscription.callbackToken) {
        subscription = current;
        result = await attemptDelivery(one, current, options);
      }
    }
    switch (result.outcome) {
      case "delivered":
        delivered.push(one.seq);
        return waiters.settle(one);
      case "rejected":
        return drop(one, subscription, "rejected", result.message);
      case "gone": {
        const { callbackToken } = subscription;
        const removed = await storage.removeSubscription(connectionId, key, callbackToken);
        if (!removed) return retry(one, subscription, "HTTP 410 for a former token");
        waiters.resolveAll(removed);
        return options.onGone(removed);
      }
      case "unauthorized":
      case "failed":
        return now() - one.createdAt < options.keepMs
          ? retry(one, subscription, result.message, result.retryAfterMs)
          : drop(one, subscription, "expired", result.message);
    }
  }

  async function retry(
    one: Delivery,
    subscription: StoredSubscription,
    message: string,
    atLeastMs = 0,
  ): Promise<void> {
    const { firstMs, maxMs } = options.retry;
    const attempt = one.attempt + 1;
    const backoff = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 40));
    const delay = Math.round(backoff * (0.5 + options.random() / 2));
    const dueAt = now() + Math.max(delay, atLeastMs);
    await storage.postpone(one.seq, attempt, dueAt);
    const event = pendingEvent(one, subscription, message);
    await call(options.onRetry, { ...event, attempt, nextAt: new Date(dueAt) });
  }

  async function finish(one: Delivery, error?: Error): Promise<void> {
    await storage.removeDelivery(one.seq);
    waiters.settle(one, error);
  }

  async function drop(
    one: Delivery,
    subscription: StoredSubscription,
    reason: DroppedEvent["reason"],
    message: string,
  ): Promise<void> {
    // First the callback: a crash in between repeats it instead of losing the event.
    await call(options.onDropped, { ...pendingEvent(one, subscription, message), reason });
    await finish(one, new TriggerError("not_delivered", message));
  }

  async function call<Event>(hook: (event: Event) => unknown, event: Event): Promise<void> {
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
    poke();
    options.waitUntil?.(settle());
  }

  return {
    wake,
    settle,
    forget: waiters.resolveAll,

    async add(deliveries) {
      if (isClosed) throw new TriggerError("closed", "notify was called after close");
      const delivered = storage.isDurable ? Promise.resolve() : waiters.wait(deliveries);
      const pending = await storage.enqueue(deliveries, options.maxPending);
      for (const one of deliveries) if (!pending?.includes(one)) waiters.settle(one);
      if (!pending)
        throw new TriggerError(
          "outbox_full",
          `the outbox is full: ${options.maxPending} events could not be delivered yet`,
        );
      wake();
      return { delivered };
    },

    async close() {
      isClosed = true;
      clearTimeout(timer);
      await settle();
      for (const seq of delivered) await storage.removeDelivery(seq);
      waiters.rejectAll(new TriggerError("closed", "closed before the event was delivered"));
      await storage.close?.();
    },
  };
}

function pendingEvent(
  { id, type, body }: Delivery,
  { connectionId, subscriptionId }: StoredSubscription,
  message: string,
): PendingEvent {
  const { data } = JSON.parse(body) as { data: JsonObject };
  return { connectionId, subscriptionId, id, type, data, message };
}

/** The callers of `notify` that wait for deliveries, because the storage is not durable. */
function createWaiters() {
  const waiting = new Map<string, PromiseWithResolvers>();
  const queueOf = (connectionId: string, key: string) =>
    `${JSON.stringify([connectionId, key]).slice(0, -1)},`;
  const nameOf = ({ connectionId, subscription, id }: NewDelivery) =>
    queueOf(connectionId, subscription) + id;

  return {
    async wait(deliveries: readonly NewDelivery[]): Promise<void> {
      await Promise.all(
        deliveries.map((one) => {
          const waiter = waiting.get(nameOf(one)) ?? withResolvers();
          waiting.set(nameOf(one), waiter);
          return waiter.promise;
        }),
      );
    },
    settle(one: NewDelivery, error?: Error): void {
      const waiter = waiting.get(nameOf(one));
      waiting.delete(nameOf(one));
      if (error) waiter?.reject(error);
      else waiter?.resolve();
    },
    resolveAll({ connectionId, key }: Pick<StoredSubscription, "connectionId" | "key">): void {
      for (const [name, { resolve }] of waiting)
        if (name.startsWith(queueOf(connectionId, key))) {
          waiting.delete(name);
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

/** `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers(): PromiseWithResolvers {
  let resolve = () => {};
  let reject = (_: Error) => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
