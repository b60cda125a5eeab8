/**
 * Delivers what webhook subscriptions want. A subscription's places in the logs are its queue: there
 * is no second one to disagree with. Processes share the work by leases, which they renew while they
 * live; what one holds when it dies is another's once the lease has run out, and goes on after the
 * last event that the endpoint has taken.
 */
import { createSemaphore } from "../lib/semaphore.ts";
import type { Store } from "../store/store.ts";
import { type Delivery, type DeliveryContext, openDelivery } from "./delivery.ts";
import { createRecorder } from "./recorder.ts";

export interface DelivererOptions
  extends Omit<DeliveryContext, "record" | "slots" | "store" | "giveUpMs"> {
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
  /** How often leases are renewed, and free subscriptions taken. */
  tickMs?: number;
  /** How often a subscription that waits is looked at: whether it has ended, and how far the log is. */
  lookMs?: number;
  giveUpMs?: number;
  /** The number of concurrent requests for one principal. */
  concurrency?: number;
}

export interface Deliverer {
  /** There may be a subscription that nobody delivers yet. Before the first call it does nothing. */
  poke(): void;
  /** Finishes nothing that would take long: what was not taken is sent again by whoever comes next. */
  close(): Promise<void>;
}

interface Opened {
  delivery: Promise<Delivery | undefined>;
  lookedAt: number;
}

/** How many are taken at once: so that processes that start together get some each. */
const TAKE = 100;

export function createDeliverer({
  leaseMs = 10_000,
  tickMs = 3_000,
  lookMs = 15_000,
  giveUpMs = 24 * 60 * 60_000,
  concurrency = 10,
  ...options
}: DelivererOptions): Deliverer {
  const { store, by, now, after, onError } = options;
  const recorder = createRecorder({ store, by, after });
  const context: DeliveryContext = {
    ...options,
    giveUpMs,
    record: recorder.record,
    slots: createSemaphore({ perKey: concurrency }),
  };
  const open = new Map<string, Opened>();
  let closed = false;
  let ticking: Promise<void> | undefined;
  let again = false;
  let cancelTimer = () => {};

  const start = (id: string) => {
    const forget = () => {
      if (open.get(id) === opened) open.delete(id); // the next tick may take it again
    };
    const begin = async (): Promise<Delivery | undefined> => {
      try {
        const found = await store.findSubscription(id);
        if (found && !closed) return await openDelivery(found.subscription, context, forget);
      } catch (error) {
        onError(error);
      }
      forget();
      return undefined;
    };
    const opened: Opened = { delivery: begin(), lookedAt: now() };
    open.set(id, opened);
  };
  const look = async (id: string): Promise<void> => {
    const one = open.get(id);
    if (!one || now() - one.lookedAt < lookMs) return;
    one.lookedAt = now();
    const delivery = await one.delivery;
    await delivery?.check();
    await delivery?.keepPlaces();
  };

  const tick = async (): Promise<void> => {
    const at = now();
    const held = await store.leaseSubscriptions({ by, now: at, until: at + leaseMs, limit: TAKE });
    const mine = new Set(held);
    for (const [id, { delivery }] of open)
      if (!mine.has(id)) void delivery.then((one) => one?.letGo());
    for (const id of held) if (!open.has(id) && !closed) start(id);
    // Not waited for: one that says goodbye to a slow endpoint must not keep the leases waiting.
    for (const id of held) look(id).catch(onError);
  };
  const loop = (): void => {
    if (closed) return;
    again = ticking !== undefined;
    if (ticking) return;
    cancelTimer();
    ticking = tick()
      .catch(onError)
      .finally(() => {
        ticking = undefined;
        if (closed) return;
        if (again) return loop();
        cancelTimer = after(tickMs, loop);
      });
  };

  return {
    poke: loop,
    async close() {
      closed = true;
      cancelTimer();
      recorder.skipPauses();
      await ticking;
      const all = [...open.values()];
      await Promise.all(all.map(async ({ delivery }) => (await delivery)?.stop()));
      await store.releaseSubscriptions(by);
    },
  };
}
