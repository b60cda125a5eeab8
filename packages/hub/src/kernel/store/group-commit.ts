/**
 * Group commit: requests that arrive together share one transaction and one fsync. Each gets its own
 * result. When `append` resolves, its events survive a crash.
 */
import { createBatcher } from "../lib/batcher.ts";
import type { AppendRequest, AppendResult, StalePlan, Store } from "./store.ts";

export interface GroupCommitOptions {
  store: Pick<Store, "appendEvents" | "isDataError"> & Partial<Pick<Store, "packLarge">>;
  /** See `EventStore.appendEvents`. */
  quota: number | null;
  /** The limits of one batch. */
  maxEvents?: number;
  maxBytes?: number;
  /** Runs `work` after pending I/O, so that requests that have already arrived join the batch. */
  defer?: (work: () => void) => void;
  /** Called with the number of requests in each batch that was written. */
  onBatch?: (size: number) => void;
}

export interface GroupCommit {
  append(request: AppendRequest): Promise<AppendResult | StalePlan>;
  /** Resolves when every request has its result. */
  drain(): Promise<void>;
}

export function createGroupCommit({
  store,
  quota,
  maxEvents = 256,
  maxBytes = 8 * 1024 * 1024,
  defer = (work) => void setTimeout(work, 0),
  onBatch = () => {},
}: GroupCommitOptions): GroupCommit {
  const { add, drain } = createBatcher<AppendRequest, AppendResult | StalePlan>({
    async flush(requests) {
      const results = await store.appendEvents(requests, quota);
      onBatch(requests.length);
      return results;
    },
    defer,
    maxItems: maxEvents,
    countOf: ({ events }) => events.length,
    maxBytes,
    sizeOf,
    isItemError: store.isDataError,
  });
  /** The requests whose large payloads are compressed before they are added to the batcher. */
  const packing = new Set<Promise<unknown>>();
  return {
    append(request) {
      const packed = store.packLarge?.(request) ?? request;
      if (!(packed instanceof Promise)) return add(packed);
      const result = packed.then(add).finally(() => packing.delete(result));
      packing.add(result);
      return result;
    },
    async drain() {
      while (packing.size > 0) await Promise.allSettled(packing);
      await drain();
    },
  };
}

function sizeOf({ events }: AppendRequest): number {
  let bytes = 0;
  for (const { body } of events) bytes += body.byteLength;
  return bytes;
}
