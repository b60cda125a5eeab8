/**
 * A batcher writes items in batches. Items that are added while a batch is being written form the
 * next batch. Each caller gets the result of its own item. Items are written in the order of `add`.
 */

export interface BatcherOptions<Item, Result> {
  /** Writes a batch. Returns one result per item, in the same order. */
  flush(items: Item[]): Promise<readonly Result[]>;
  /** Schedules the next flush. Items that are added before `work` runs join its batch. */
  defer(work: () => void): void;
  maxItems?: number;
  /** How much an item counts towards `maxItems`; 1 by default. */
  countOf?: (item: Item) => number;
  maxBytes?: number;
  sizeOf?: (item: Item) => number;
  /**
   * Returns true if the content of one item has caused the error of a flush. The batch is then split
   * in halves, which are written again, so that only this item fails. Any other error rejects the
   * whole batch.
   */
  isItemError?: (error: unknown, items: readonly Item[]) => boolean;
}

export interface Batcher<Item, Result> {
  /** Resolves with the result of the flush that wrote the item. */
  add(item: Item): Promise<Result>;
  /** Resolves when the result of every added item is known. */
  drain(): Promise<void>;
}

interface Entry<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export function createBatcher<Item, Result>({
  flush,
  defer,
  maxItems = Number.POSITIVE_INFINITY,
  countOf = () => 1,
  maxBytes = Number.POSITIVE_INFINITY,
  sizeOf = () => 0,
  isItemError = () => false,
}: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const queue: Entry<Item, Result>[] = [];
  /** Resolve the promises of `drain`. */
  const drainResolvers: (() => void)[] = [];
  /** True from the call of `defer` until the batch is written. */
  let isBusy = false;

  const schedule = () => {
    if (isBusy) return;
    isBusy = true;
    defer(writeNext);
  };
  const writeNext = () => {
    void write(takeBatch()).then(onWritten);
  };
  const onWritten = () => {
    isBusy = false;
    if (queue.length > 0) schedule();
    else for (const resolve of drainResolvers.splice(0)) resolve();
  };

  /** Removes and returns the longest prefix of the queue within the limits, but at least one item. */
  const takeBatch = () => {
    let count = 0;
    let bytes = 0;
    let length = 0;
    for (const { item } of queue) {
      count += countOf(item);
      bytes += sizeOf(item);
      if (length > 0 && (count > maxItems || bytes > maxBytes)) break;
      length += 1;
    }
    return queue.splice(0, length);
  };

  const write = async (batch: Entry<Item, Result>[]): Promise<void> => {
    const items = batch.map(({ item }) => item);
    try {
      const results = await flush(items);
      batch.forEach(({ resolve }, at) => {
        resolve(results[at] as Result);
      });
    } catch (error) {
      if (batch.length > 1 && isItemError(error, items)) {
        const middle = Math.ceil(batch.length / 2);
        await write(batch.slice(0, middle));
        await write(batch.slice(middle));
      } else for (const { reject } of batch) reject(error);
    }
  };

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        schedule();
      }),
    drain: () =>
      isBusy ? new Promise((resolve) => void drainResolvers.push(resolve)) : Promise.resolve(),
  };
}
