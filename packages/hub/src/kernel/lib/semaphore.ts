/**
 * A keyed semaphore. `limit` is the maximum that all keys hold together, `perKey` the maximum of one
 * key. Permits have amounts, so that a semaphore can count bytes as well as slots.
 *
 * The queue of each key is first in, first out; the keys are served round robin. No caller overtakes
 * one that waits for the same capacity. An amount above a limit is granted while nothing else is held.
 * A key with neither permits nor waiting callers uses no memory.
 */

export interface SemaphoreOptions {
  limit?: number;
  perKey?: number;
  /** The number of callers of one key that may wait; further calls of `acquire` are rejected. */
  maxQueued?: number;
}

/** Releases the acquired amount. Calling it again has no effect. */
export type Release = () => void;

export interface Semaphore {
  tryAcquire(key: string, amount?: number): Release | undefined;
  /** Rejects with the signal's reason on abort, and with `QueueFull` above `maxQueued`. */
  acquire(key: string, options?: { amount?: number; signal?: AbortSignal }): Promise<Release>;
  /** The number of keys with permits or waiting callers. */
  readonly size: number;
}

export class QueueFull extends Error {
  readonly code = "queue_full";
}

interface Waiter {
  amount: number;
  grant(release: Release): void;
}

interface Entry {
  key: string;
  /** The sum of the amounts of the key's permits. */
  held: number;
  /** The number of the key's permits. An amount can be 0, so `held` does not show whether there are any. */
  permits: number;
  queue: Set<Waiter>;
}

export function createSemaphore({
  limit = Number.POSITIVE_INFINITY,
  perKey = Number.POSITIVE_INFINITY,
  maxQueued = Number.POSITIVE_INFINITY,
}: SemaphoreOptions): Semaphore {
  const entries = new Map<string, Entry>();
  /** The entries whose first waiter fits `perKey` and waits only for `limit`, in round-robin order. */
  const ready = new Set<Entry>();
  let totalHeld = 0;

  const fits = (used: number, amount: number, max: number) => used === 0 || used + amount <= max;
  const firstWaiter = ({ queue }: Entry): Waiter | undefined => queue.values().next().value;

  const entryOf = (key: string): Entry => {
    let entry = entries.get(key);
    if (!entry) {
      entry = { key, held: 0, permits: 0, queue: new Set() };
      entries.set(key, entry);
    }
    return entry;
  };

  /** Call it after every change of an entry. It updates `ready`, and deletes an unused entry. */
  const update = (entry: Entry) => {
    const next = firstWaiter(entry);
    if (next && fits(entry.held, next.amount, perKey)) ready.add(entry);
    else ready.delete(entry);
    if (!next && entry.permits === 0) entries.delete(entry.key);
  };

  const hold = (entry: Entry, amount: number): Release => {
    entry.held += amount;
    entry.permits += 1;
    totalHeld += amount;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      entry.held -= amount;
      entry.permits -= 1;
      totalHeld -= amount;
      update(entry);
      grantReady();
    };
  };

  const grantReady = () => {
    for (const entry of ready) {
      const waiter = firstWaiter(entry) as Waiter;
      if (!fits(totalHeld, waiter.amount, limit)) return;
      entry.queue.delete(waiter);
      const release = hold(entry, waiter.amount);
      ready.delete(entry); // `update` adds it again, behind the other keys
      update(entry);
      waiter.grant(release);
    }
  };

  const tryAcquire = (key: string, amount = 1): Release | undefined => {
    const entry = entries.get(key);
    const isFree =
      ready.size === 0 &&
      (entry?.queue.size ?? 0) === 0 &&
      fits(entry?.held ?? 0, amount, perKey) &&
      fits(totalHeld, amount, limit);
    return isFree ? hold(entry ?? entryOf(key), amount) : undefined;
  };

  return {
    tryAcquire,
    acquire(key, { amount = 1, signal } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      const acquired = tryAcquire(key, amount);
      if (acquired) return Promise.resolve(acquired);
      if ((entries.get(key)?.queue.size ?? 0) >= maxQueued)
        return Promise.reject(new QueueFull(`${maxQueued} callers are waiting already`));

      const { promise, resolve, reject } = Promise.withResolvers<Release>();
      const entry = entryOf(key);
      const onAbort = () => {
        entry.queue.delete(waiter);
        reject(signal?.reason); // before `grantReady` grants the callers behind it
        update(entry);
        grantReady();
      };
      const waiter: Waiter = {
        amount,
        grant(release) {
          signal?.removeEventListener("abort", onAbort);
          resolve(release);
        },
      };
      entry.queue.add(waiter);
      update(entry);
      signal?.addEventListener("abort", onAbort, { once: true });
      return promise;
    },
    get size() {
      return entries.size;
    },
  };
}
