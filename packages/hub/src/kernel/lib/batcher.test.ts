import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBatcher } from "./batcher.ts";
import { createTestTimers } from "./test-timers.ts";

/** A batcher whose flushes end when the test calls `end` or `fail`. */
function createSlowBatcher() {
  const timers = createTestTimers();
  const flushes: { items: string[]; result: PromiseWithResolvers<string[]> }[] = [];
  const batcher = createBatcher<string, string>({
    defer: timers.defer,
    flush(items) {
      const result = Promise.withResolvers<string[]>();
      flushes.push({ items, result });
      return result.promise;
    },
  });
  return {
    batcher,
    flushed: () => flushes.map(({ items }) => items.join("")),
    start: () => timers.advance(0),
    async end() {
      const { items, result } = flushes.at(-1) as (typeof flushes)[number];
      result.resolve(items.map((item) => item.toUpperCase()));
      await settle();
    },
    async fail(error: Error) {
      flushes.at(-1)?.result.reject(error);
      await settle();
    },
  };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("batcher", () => {
  it("flushes items together if they are added before the deferred work runs", async () => {
    const { batcher, flushed, start, end } = createSlowBatcher();
    const results = Promise.all(["a", "b", "c"].map(batcher.add));
    expect(flushed()).toEqual([]);
    start();
    expect(flushed()).toEqual(["abc"]);
    await end();
    expect(await results).toEqual(["A", "B", "C"]);
  });

  it("collects the next batch while one is being flushed", async () => {
    const { batcher, flushed, start, end } = createSlowBatcher();
    const results = [batcher.add("a")];
    start();
    results.push(batcher.add("b"), batcher.add("c"));
    start();
    expect(flushed()).toEqual(["a"]);
    await end();
    results.push(batcher.add("d"));
    start();
    expect(flushed()).toEqual(["a", "bcd"]);
    await end();
    expect(await Promise.all(results)).toEqual(["A", "B", "C", "D"]);
  });

  it("rejects the whole batch if its flush fails, and flushes the next batch", async () => {
    const { batcher, start, end, fail } = createSlowBatcher();
    const failed = Promise.allSettled(["a", "b"].map(batcher.add));
    start();
    const later = batcher.add("c");
    await fail(new Error("disk full"));
    expect((await failed).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    start();
    await end();
    expect(await later).toBe("C");
  });

  it("works with a `defer` that runs the work synchronously", async () => {
    const batcher = createBatcher<number, number>({
      defer: (work) => work(),
      flush: async (items) => items,
    });
    expect(await Promise.all([1, 2, 3].map(batcher.add))).toEqual([1, 2, 3]);
  });

  it("flushes every item exactly once, in order, within the limits", async () => {
    const itemArbitrary = fc.record({
      count: fc.integer({ min: 1, max: 6 }),
      size: fc.nat({ max: 50 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(itemArbitrary, { minLength: 1, maxLength: 10 }), { maxLength: 6 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 120 }),
        async (bursts, maxItems, maxBytes) => {
          type Item = { id: number; count: number; size: number };
          const batches: Item[][] = [];
          const batcher = createBatcher<Item, number>({
            defer: setImmediate,
            async flush(items) {
              batches.push(items);
              await settle();
              return items.map(({ id }) => id);
            },
            maxItems,
            countOf: ({ count }) => count,
            maxBytes,
            sizeOf: ({ size }) => size,
          });
          const added: Promise<number>[] = [];
          for (const burst of bursts) {
            for (const item of burst) added.push(batcher.add({ id: added.length, ...item }));
            await settle();
          }
          await batcher.drain();
          const ids = added.map((_, id) => id);
          expect(await Promise.all(added)).toEqual(ids);
          expect(batches.flat().map(({ id }) => id)).toEqual(ids);
          const sum = (batch: Item[], field: "count" | "size") =>
            batch.reduce((total, item) => total + item[field], 0);
          for (const batch of batches)
            expect(
              batch.length === 1 ||
                (sum(batch, "count") <= maxItems && sum(batch, "size") <= maxBytes),
            ).toBe(true);
        },
      ),
    );
  });

  it("rejects only the items that cause an item error, each with its own error", async () => {
    const itemNumbers = fc.uniqueArray(fc.nat({ max: 40 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(itemNumbers, fc.integer({ min: 1, max: 40 }), async (bad, count) => {
        const written: number[] = [];
        const batcher = createBatcher<number, number>({
          defer: setImmediate,
          async flush(items) {
            const badItems = items.filter((item) => bad.includes(item));
            if (badItems.length > 0) throw new RangeError(`bad: ${badItems}`);
            written.push(...items);
            return items;
          },
          isItemError: (error) => error instanceof RangeError,
        });
        const items = Array.from({ length: count }, (_, at) => at);
        const results = await Promise.allSettled(items.map(batcher.add));
        expect(written).toEqual(items.filter((item) => !bad.includes(item)));
        for (const [item, result] of results.entries())
          expect(result).toMatchObject(
            bad.includes(item)
              ? { status: "rejected", reason: { message: `bad: ${item}` } }
              : { status: "fulfilled", value: item },
          );
      }),
    );
  });
});

describe("drain", () => {
  it("waits until every item has its result, including items that are added while it waits", async () => {
    const { batcher, start, end } = createSlowBatcher();
    const log: string[] = [];
    const add = (item: string) => void batcher.add(item).then((result) => log.push(result));
    add("a");
    const drained = batcher.drain().then(() => log.push("drained"));
    start();
    add("b");
    await end();
    expect(log).toEqual(["A"]);
    start();
    await end();
    await drained;
    expect(log).toEqual(["A", "B", "drained"]);
  });

  it("resolves when the last batch fails", async () => {
    const { batcher, start, fail } = createSlowBatcher();
    const failed = expect(batcher.add("a")).rejects.toThrow("disk full");
    const drained = batcher.drain();
    start();
    await fail(new Error("disk full"));
    await drained;
    await failed;
  });

  it("resolves immediately when nothing was added", async () => {
    await createSlowBatcher().batcher.drain();
  });
});
