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
  held: number;
  holders: number;
  queue: Set<Waiter>;
}

export function createSemaphore({
  limit = Number.POSITIVE_INFINITY,
  perKey = Number.POSITIVE_INFINITY,
  maxQueued = Number.POSITIVE_INFINITY,
}: SemaphoreOptions): Semaphore {
  const entries = new Map<string, Entry>();
  /** Keys whose first waiter fits `perKey` and waits for `limit` only, in round-robin order. */
  const ready = new Set<Entry>();
  let held = 0;

  const fits = (used: number, amount: number, max: number) => used === 0 || used + amount <= max;
  const first = ({ queue }: Entry): Waiter | undefined => queue.values().next().value;

  const entryOf = (key: string): Entry => {
    let entry = entries.get(key);
    if (!entry) {
      entry = { key, held: 0, holders: 0, queue: new Set() };
      entries.set(key, entry);
    }
    return entry;
  };

  /** Must follow every change of an entry. */
  const update = (entry: Entry) => {
    const next = first(entry);
    if (next && fits(entry.held, next.amount, perKey)) ready.add(entry);
    else ready.delete(entry);
    if (!next && entry.holders === 0) entries.delete(entry.key);
  };

  const hold = (entry: Entry, amount: number): Release => {
    entry.held += amount;
    entry.holders += 1;
    held += amount;
    let released = false;
    return () => {
      if (released) return;
      released = true;
      entry.held -= amount;
      entry.holders -= 1;
      held -= amount;
      update(entry);
      grantReady();
    };
  };

  const grantReady = () => {
    for (const entry of ready) {
      const waiter = first(entry) as Waiter;
      if (!fits(held, waiter.amount, limit)) return;
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
      fits(held, amount, limit);
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
        reject(signal?.reason); // before the callers behind it are granted
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
