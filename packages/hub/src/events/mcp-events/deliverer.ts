/**
 * Delivers events to webhook subscriptions. A subscription's position in the logs is its queue; there
 * is no second queue. Processes share the subscriptions by leases. When a process dies, its leases
 * expire, and another process continues from the positions that were saved.
 */

import { createBatcher } from "../../kernel/lib/batcher.ts";
import { createSemaphore } from "../../kernel/lib/semaphore.ts";
import { elapsedSince, type Instant, instant, type Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { type Delivery, type DeliveryContext, openDelivery } from "./delivery.ts";
import type { DeliveryProgress } from "./model.ts";

export interface DelivererOptions
  extends Omit<DeliveryContext, "record" | "slots" | "store" | "retryPeriodMs"> {
  store: Pick<
    Store,
    | "findSubscription"
    | "removeSubscription"
    | "getPayload"
    | "leaseSubscriptions"
    | "releaseSubscriptions"
    | "recordProgress"
    | "getLogId"
  >;
  leaseMs?: number;
  /** How often leases are renewed, and subscriptions that no process holds are leased. */
  tickMs?: number;
  /** How often an idle subscription is checked for expiry, and its position is saved. */
  checkMs?: number;
  retryPeriodMs?: number;
  /** The maximum number of concurrent requests for one principal. */
  concurrency?: number;
  /** Whether no other process uses the store. Then no timer is set while there is no subscription. */
  isOnlyProcess?: boolean;
}

export interface Deliverer {
  /** Leases the subscriptions that no process holds. Nothing is delivered before the first call. */
  wake(): void;
  /** Aborts requests in progress; the next process sends those events again. */
  close(): Promise<void>;
}

interface OpenDelivery {
  delivery: Promise<Delivery | undefined>;
  checkedAt: Instant;
}

/** The maximum number of new leases per tick, so that processes that start together share the work. */
const LEASES_PER_TICK = 100;

export function createDeliverer({
  leaseMs = 10_000,
  tickMs = 3_000,
  checkMs = 15_000,
  retryPeriodMs = 24 * 60 * 60_000,
  concurrency = 10,
  isOnlyProcess = false,
  ...options
}: DelivererOptions): Deliverer {
  const { store, by, now, after, onError } = options;
  const recorder = createRecorder({ store, by, after });
  const context: DeliveryContext = {
    ...options,
    retryPeriodMs,
    record: recorder.record,
    slots: createSemaphore({ perKey: concurrency }),
  };
  const createdAt = instant(options);
  const deliveries = new Map<string, OpenDelivery>();
  let isClosed = false;
  let activeTick: Promise<void> | undefined;
  let shouldTickAgain = false;
  let cancelTimer = () => {};

  const start = (id: string) => {
    const onStopped = () => {
      if (deliveries.get(id) === opened) deliveries.delete(id); // the next tick may open it again
    };
    const open = async (): Promise<Delivery | undefined> => {
      try {
        const subscription = await store.findSubscription(id);
        if (subscription && !isClosed) return await openDelivery(subscription, context, onStopped);
      } catch (error) {
        onError(error);
      }
      onStopped();
      return undefined;
    };
    const opened: OpenDelivery = { delivery: open(), checkedAt: instant(options) };
    deliveries.set(id, opened);
  };
  const check = async (id: string): Promise<void> => {
    const opened = deliveries.get(id);
    if (!opened || elapsedSince(options, opened.checkedAt) < checkMs) return;
    opened.checkedAt = instant(options);
    const delivery = await opened.delivery;
    await delivery?.check();
    await delivery?.savePosition();
  };

  const tick = async (): Promise<void> => {
    const at = now();
    const leased = await store.leaseSubscriptions({
      by,
      now: at,
      until: at + leaseMs,
      limit: LEASES_PER_TICK,
    });
    const leasedIds = new Set(leased);
    for (const [id, { delivery }] of deliveries)
      if (!leasedIds.has(id)) void delivery.then((opened) => opened?.release());
    for (const id of leased) if (!deliveries.has(id) && !isClosed) start(id);
    // Not awaited: a `terminated` message to a slow endpoint must not delay the next renewal.
    for (const id of leased) check(id).catch(onError);
  };
  const loop = (): void => {
    if (isClosed) return;
    shouldTickAgain = activeTick !== undefined;
    if (activeTick) return;
    cancelTimer();
    activeTick = tick()
      .catch(onError)
      .finally(() => {
        activeTick = undefined;
        if (isClosed) return;
        if (shouldTickAgain) return loop();
        // After the leases of a former process have expired, only `wake` announces new subscriptions.
        if (isOnlyProcess && deliveries.size === 0 && elapsedSince(options, createdAt) > leaseMs)
          return;
        cancelTimer = after(tickMs, loop);
      });
  };

  return {
    wake: loop,
    async close() {
      isClosed = true;
      cancelTimer();
      recorder.skipPauses();
      await activeTick;
      const all = [...deliveries.values()];
      await Promise.all(all.map(async ({ delivery }) => (await delivery)?.stop()));
      await store.releaseSubscriptions(by);
    },
  };
}

export interface RecorderOptions {
  store: Pick<Store, "recordProgress">;
  by: string;
  after: Timers["after"];
}

const PAUSE_MS = 20;

/**
 * Saves the progress of all deliveries in few transactions. It pauses between two transactions, so that
 * incoming webhooks can use the disk, and batches the progress that is recorded during the pause.
 */
export function createRecorder({ store, by, after }: RecorderOptions) {
  let isPausingDisabled = false;
  /** Undefined while there is no pause. */
  let endPause: (() => void) | undefined;
  let deferredFlush: (() => void) | undefined;

  const pause = () => {
    if (isPausingDisabled) return;
    const cancel = after(PAUSE_MS, () => endPause?.());
    endPause = () => {
      cancel();
      endPause = undefined;
      const flush = deferredFlush;
      deferredFlush = undefined;
      flush?.();
    };
  };

  const { add } = createBatcher<DeliveryProgress, boolean>({
    defer(work) {
      if (endPause) deferredFlush = work;
      else work();
    },
    async flush(batch) {
      // The last progress of a subscription replaces its earlier ones.
      const latest = new Map(batch.map((progress) => [progress.id, progress]));
      try {
        const leased = new Set(await store.recordProgress(by, [...latest.values()]));
        return batch.map(({ id }) => leased.has(id));
      } finally {
        pause();
      }
    },
  });

  return {
    /** Resolves when the progress is saved, or with false if `by` no longer holds the lease. */
    record: (progress: DeliveryProgress): Promise<boolean> => add({ ...progress }),
    /** Ends the current pause, and disables further pauses, for a shutdown. */
    skipPauses(): void {
      isPausingDisabled = true;
      endPause?.();
    },
  };
}
