/**
 * Group commit: requests that arrive together share one transaction and one fsync. Each gets its own
 * result. When `append` resolves, its events survive a crash.
 */
import { createBatcher } from "../lib/batcher.ts";
import type { PackLarge, PackRequest } from "./packs.ts";

export interface GroupCommitOptions<Request extends PackRequest, Result> {
  store: {
    appendEvents(batch: Request[], quota: number | null): Promise<Result[]>;
    isDataError(error: unknown): boolean;
    packLarge?: PackLarge;
  };
  /** The quota of tenants without their own. */
  quota: number | null;
  /** The limits of one batch. */
  maxEvents?: number;
  maxBytes?: number;
  /** Runs `work` after pending I/O, so that requests that have already arrived join the batch. */
  defer?: (work: () => void) => void;
  /** Called with the number of requests in each batch that was written. */
  onBatch?: (size: number) => void;
}

export interface GroupCommit<Request, Result> {
  append(request: Request): Promise<Result>;
  /** Resolves when every request has its result. */
  drain(): Promise<void>;
}

export function createGroupCommit<Request extends PackRequest, Result>({
  store,
  quota,
  maxEvents = 256,
  maxBytes = 8 * 1024 * 1024,
  defer = (work) => void setTimeout(work, 0),
  onBatch = () => {},
}: GroupCommitOptions<Request, Result>): GroupCommit<Request, Result> {
  const { add, drain } = createBatcher<Request, Result>({
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

function sizeOf({ events }: PackRequest): number {
  let bytes = 0;
  for (const { body } of events) bytes += body.byteLength;
  return bytes;
}
