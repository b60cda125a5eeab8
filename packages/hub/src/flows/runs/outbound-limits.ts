/**
 * Limits the requests that runs have open at each origin. So a server that does not answer holds a bounded
 * number of connections, and the other runs that call it wait for it, without a slot. Each tenant, app and
 * flow has a fair share of an origin.
 */
import { createFairSlots, type FairSlots, type Release } from "../../kernel/lib/fair-slots.ts";
import type { GroupPath } from "../../kernel/lib/shares.ts";

export interface OutboundLimits {
  /**
   * Resolves when a request to the origin may be sent; the returned function must be called when it has
   * ended. Rejects with the reason of the signal. `onQueued` is called if the request must wait; the
   * function that it returns, when the wait has ended.
   */
  enter(origin: string, path: GroupPath, options: EnterOptions): Promise<Release>;
  /** The origins with open requests. */
  list(): OriginState[];
}

export interface EnterOptions {
  signal: AbortSignal;
  onQueued?: (() => () => void) | undefined;
}

interface OriginState {
  origin: string;
  open: number;
  waiting: { path: GroupPath; count: number }[];
}

export function createOutboundLimits(perOrigin: number): OutboundLimits {
  const origins = new Map<string, FairSlots>();
  const slotsOf = (origin: string): FairSlots => {
    const existing = origins.get(origin);
    if (existing) return existing;
    const slots: FairSlots = createFairSlots({
      capacity: perOrigin,
      onFree() {
        if (slots.shares.free === perOrigin && slots.waiting === 0) origins.delete(origin);
      },
    });
    origins.set(origin, slots);
    return slots;
  };

  return {
    async enter(origin, path, { signal, onQueued }) {
      signal.throwIfAborted();
      const slots = slotsOf(origin);
      const acquired = slots.tryAcquire(path);
      if (acquired) return acquired;
      const onEnd = onQueued?.();
      const { promise, resolve, reject } = Promise.withResolvers<Release>();
      const leave = slots.wait(path, resolve);
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", onAbort);
        onEnd?.();
      }
    },
    list: () =>
      [...origins].map(([origin, slots]) => ({
        origin,
        open: perOrigin - slots.shares.free,
        waiting: slots.listWaiting(),
      })),
  };
}

/**
 * The origin whose limit applies to a URL. It is shown in metrics and in the web UI, so it contains no part
 * of an invalid URL, which could contain a secret.
 */
export const outboundOrigin = (url: string): string => URL.parse(url)?.origin ?? "invalid URL";
