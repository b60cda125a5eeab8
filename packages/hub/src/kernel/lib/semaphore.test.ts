import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSemaphore, QueueFull, type Release, type SemaphoreOptions } from "./semaphore.ts";

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Records the names of the granted calls, in the order of the grants. */
function setup(options: SemaphoreOptions) {
  const semaphore = createSemaphore(options);
  const granted: string[] = [];
  const releases = new Map<string, Release>();
  return {
    semaphore,
    granted,
    acquire(name: string, key: string, amount?: number, signal?: AbortSignal) {
      const options = { ...(amount ? { amount } : {}), ...(signal ? { signal } : {}) };
      return semaphore.acquire(key, options).then((release) => {
        granted.push(name);
        releases.set(name, release);
      });
    },
    async release(name: string) {
      releases.get(name)?.();
      await settle();
    },
  };
}

describe("semaphore", () => {
  it("grants amounts that fit, and grants the next caller after a release", async () => {
    const { granted, acquire, release } = setup({ perKey: 100 });
    for (const name of ["first", "second", "third"]) void acquire(name, "a", 60);
    void acquire("other key", "b", 60);
    await settle();
    expect(granted).toEqual(["first", "other key"]);
    await release("first");
    expect(granted).toEqual(["first", "other key", "second"]);
    await release("second");
    expect(granted).toEqual(["first", "other key", "second", "third"]);
  });

  it("grants an amount above the limit while nothing else is held", async () => {
    const { granted, acquire, release } = setup({ limit: 100 });
    void acquire("small", "a", 1);
    void acquire("large", "a", 1_000);
    void acquire("next", "b", 1);
    await settle();
    expect(granted).toEqual(["small"]);
    await release("small");
    expect(granted).toEqual(["small", "large"]);
    await release("large");
    expect(granted).toEqual(["small", "large", "next"]);
  });

  it("serves the keys round robin, however many callers wait for one of them", async () => {
    const { granted, acquire, release } = setup({ limit: 1 });
    for (const name of ["a1", "a2", "a3", "a4"]) void acquire(name, "a");
    void acquire("b1", "b");
    void acquire("c1", "c");
    void acquire("b2", "b");
    await settle();
    for (const name of ["a1", "a2", "b1", "c1", "a3", "b2"]) await release(name);
    expect(granted).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  it("does not let a key at its own limit block the others", async () => {
    const { granted, acquire } = setup({ limit: 2, perKey: 1 });
    void acquire("a1", "a");
    void acquire("a2", "a");
    void acquire("b1", "b");
    await settle();
    expect(granted).toEqual(["a1", "b1"]);
  });

  it("does not let a small amount overtake a waiting large one", async () => {
    const { semaphore, granted, acquire, release } = setup({ limit: 10 });
    void acquire("first", "a", 8);
    void acquire("large", "b", 8);
    void acquire("small", "c", 1);
    await settle();
    expect(semaphore.tryAcquire("d")).toBeUndefined();
    expect(granted).toEqual(["first"]);
    await release("first");
    expect(granted).toEqual(["first", "large", "small"]);
  });

  it("ignores the second call of a release function", () => {
    const semaphore = createSemaphore({ limit: 2 });
    const first = semaphore.tryAcquire("a");
    expect(semaphore.tryAcquire("a")).toBeDefined();
    first?.();
    first?.();
    expect(semaphore.tryAcquire("a")).toBeDefined();
    expect(semaphore.tryAcquire("a")).toBeUndefined();
  });

  it("rejects a caller if `maxQueued` callers already wait for its key", async () => {
    const { semaphore, acquire } = setup({ limit: 1, maxQueued: 1 });
    void acquire("held", "a");
    void acquire("queued", "a");
    void acquire("queued too", "b");
    await expect(semaphore.acquire("a")).rejects.toBeInstanceOf(QueueFull);
  });

  it("rejects an aborted caller with the reason, and serves the callers behind it", async () => {
    const { semaphore, granted, acquire } = setup({ limit: 10 });
    void acquire("held", "a", 8);
    const abort = new AbortController();
    const large = acquire("large", "a", 8, abort.signal);
    void acquire("small", "a", 2);
    abort.abort(new Error("gone"));
    await expect(large).rejects.toThrow("gone");
    await settle();
    expect(granted).toEqual(["held", "small"]);
    await expect(semaphore.acquire("a", { signal: abort.signal })).rejects.toThrow("gone");
  });

  it("rejects an aborted caller before it grants the callers behind it", async () => {
    const { semaphore } = setup({ limit: 1 });
    semaphore.tryAcquire("a");
    const abort = new AbortController();
    const order: string[] = [];
    semaphore.acquire("a", { signal: abort.signal }).catch(() => order.push("rejected"));
    void semaphore.acquire("a", { amount: 0 }).then(() => order.push("granted"));
    abort.abort();
    await settle();
    expect(order).toEqual(["rejected", "granted"]);
  });

  it("ignores an abort after the grant", async () => {
    const { semaphore, acquire } = setup({ limit: 1 });
    const abort = new AbortController();
    await acquire("held", "a", 1, abort.signal);
    abort.abort();
    expect(semaphore.tryAcquire("a")).toBeUndefined();
  });

  const call = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    amount: fc.integer({ min: 0, max: 6 }),
    action: fc.constantFrom("acquire", "acquire", "try", "release", "abort"),
    pick: fc.nat(),
  });
  const limits = fc.record({
    limit: fc.integer({ min: 1, max: 8 }),
    perKey: fc.integer({ min: 1, max: 8 }),
  });

  it("never loses or duplicates a permit, in any order of calls", async () => {
    await fc.assert(
      fc.asyncProperty(limits, fc.array(call, { maxLength: 60 }), async (limits, calls) => {
        const semaphore = createSemaphore(limits);
        interface Permit {
          key: string;
          amount: number;
          release: Release;
        }
        interface Waiter {
          key: string;
          amount: number;
          abort: AbortController;
        }
        const held: Permit[] = [];
        const waiting: Waiter[] = [];
        const sum = (permits: Permit[]) => permits.reduce((total, { amount }) => total + amount, 0);
        const ofKey = (key: string) => held.filter((permit) => permit.key === key);
        const isWithin = (permits: Permit[], max: number) =>
          sum(permits) <= max || permits.filter(({ amount }) => amount > 0).length <= 1;
        const fits = ({ key, amount }: { key: string; amount: number }) =>
          (sum(held) === 0 || sum(held) + amount <= limits.limit) &&
          (sum(ofKey(key)) === 0 || sum(ofKey(key)) + amount <= limits.perKey);
        const check = () => {
          expect(isWithin(held, limits.limit)).toBe(true);
          for (const key of ["a", "b", "c"]) expect(isWithin(ofKey(key), limits.perKey)).toBe(true);
          // No capacity stays unused: the first waiter of at least one key does not fit.
          const firsts = ["a", "b", "c"].flatMap(
            (key) => waiting.find((waiter) => waiter.key === key) ?? [],
          );
          if (firsts.length > 0) expect(firsts.every(fits)).toBe(false);
        };

        for (const { key, amount, action, pick } of calls) {
          if (action === "try") {
            const release = semaphore.tryAcquire(key, amount);
            if (release) held.push({ key, amount, release });
          } else if (action === "acquire") {
            const caller = { key, amount, abort: new AbortController() };
            waiting.push(caller);
            void semaphore.acquire(key, { amount, signal: caller.abort.signal }).then(
              (release) => {
                // First in, first out within the key.
                expect(waiting.find((waiter) => waiter.key === key)).toBe(caller);
                waiting.splice(waiting.indexOf(caller), 1);
                held.push({ key, amount, release });
              },
              () => void waiting.splice(waiting.indexOf(caller), 1),
            );
          } else if (action === "release") {
            const [permit] = held.splice(pick % (held.length || 1), 1);
            permit?.release();
            permit?.release();
          } else waiting[pick % (waiting.length || 1)]?.abort.abort();
          await settle();
          check();
        }
        while (held.length > 0) {
          held.pop()?.release();
          await settle();
          check();
        }
        expect([waiting.length, semaphore.size]).toEqual([0, 0]);
      }),
    );
  });

  it("grants each waiting key once before it grants any key twice", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 40 }),
        async (keys) => {
          const semaphore = createSemaphore({ limit: 1 });
          const releaseFirst = semaphore.tryAcquire("first");
          const order: string[] = [];
          const acquired = keys.map(async (key) => {
            const release = await semaphore.acquire(key);
            order.push(key);
            release();
          });
          releaseFirst?.();
          await Promise.all(acquired);
          const remaining = Map.groupBy<string, string>(keys, (key) => key);
          for (let at = 0; at < order.length; ) {
            const round = order.slice(at, at + remaining.size);
            expect(new Set(round)).toEqual(new Set(remaining.keys()));
            for (const key of round) {
              remaining.get(key)?.pop();
              if (remaining.get(key)?.length === 0) remaining.delete(key);
            }
            at += round.length;
          }
        },
      ),
    );
  });
});
