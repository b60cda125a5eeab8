/**
 * Requests that arrive together share one transaction, and so one fsync; each gets its own answer.
 * There is no timer: while one batch is being written the next one gathers. When `append` resolves,
 * its events survive a crash.
 */
import type { AppendRequest, AppendResult, StalePlan, Store } from "./store.ts";

export interface GroupCommitOptions {
  store: Pick<Store, "appendEvents" | "isDataError">;
  quota: number | null;
  maxEvents?: number;
  maxBytes?: number;
  /** Lets the host hand over what else has arrived before a batch is closed. */
  soon?: (work: () => void) => void;
  /** Told of every batch that was written. */
  onBatch?: (size: number) => void;
}

interface Waiting {
  arrived: AppendRequest;
  resolve(appended: AppendResult | StalePlan): void;
  reject(error: unknown): void;
}

export interface GroupCommit {
  append(arrived: AppendRequest): Promise<AppendResult | StalePlan>;
  /** Resolves when everything that was handed in has been answered. */
  drain(): Promise<void>;
}

export function createGroupCommit({
  store,
  quota,
  maxEvents = 256,
  maxBytes = 8 * 1024 * 1024,
  soon = (work) => void setTimeout(work, 0),
  onBatch = () => {},
}: GroupCommitOptions): GroupCommit {
  const queue: Waiting[] = [];
  let scheduled = false;
  let writing: Promise<void> = Promise.resolve();

  const schedule = () => {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    soon(() => {
      writing = write(takeBatch()).finally(() => {
        scheduled = false;
        schedule();
      });
    });
  };

  const takeBatch = (): Waiting[] => {
    let events = 0;
    let bytes = 0;
    let count = 0;
    for (const { arrived } of queue) {
      events += arrived.events.length;
      for (const event of arrived.events) bytes += event.body.byteLength;
      if (count > 0 && (events > maxEvents || bytes > maxBytes)) break;
      count += 1;
    }
    return queue.splice(0, count);
  };

  const write = async (batch: Waiting[]): Promise<void> => {
    const arrivals = batch.map(({ arrived }) => arrived);
    const outcomes = await store.appendEvents(arrivals, quota).catch(async (error: unknown) => {
      // One bad row must not take its neighbours with it. By halves it is found in a few writes.
      if (batch.length > 1 && store.isDataError(error)) {
        const half = Math.ceil(batch.length / 2);
        await write(batch.slice(0, half));
        await write(batch.slice(half));
      } else for (const { reject } of batch) reject(error);
    });
    if (!outcomes) return;
    batch.forEach(({ resolve }, at) => {
      resolve(outcomes[at] as AppendResult | StalePlan);
    });
    onBatch(batch.length);
  };

  return {
    append: (arrived) =>
      new Promise((resolve, reject) => {
        queue.push({ arrived, resolve, reject });
        schedule();
      }),
    async drain() {
      while (scheduled || queue.length > 0) {
        await writing;
        await new Promise<void>((resolve) => soon(resolve));
      }
    },
  };
}
