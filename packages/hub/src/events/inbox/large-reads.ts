/**
 * Limits the total size of large payloads that requests have loaded from the store. A payload counts
 * until the work with it has settled, even if the client disconnects earlier.
 */
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { createSemaphore } from "../../kernel/lib/semaphore.ts";
import type { EventRow } from "../model.ts";

const MIB = 1024 * 1024;
/** More than two of the largest payloads, which have 25 MiB. */
const MAX_BYTES = 64 * MIB;
const MAX_TENANT_BYTES = MAX_BYTES / 2;
const MAX_WAIT_MS = 20_000;

/**
 * Calls `work`, which loads the payload of the event, when the limits allow it. Throws a `RequestError`
 * if they do not allow it in time.
 */
export type LargeReads = <Result>(
  event: Pick<EventRow, "tenant" | "size">,
  work: () => Promise<Result>,
) => Promise<Result>;

export function createLargeReads(maxWaitMs = MAX_WAIT_MS): LargeReads {
  const semaphore = createSemaphore({ limit: MAX_BYTES, perKey: MAX_TENANT_BYTES });
  return async ({ tenant, size }, work) => {
    if (size <= LARGE_BYTES) return work();
    const signal = AbortSignal.timeout(maxWaitMs);
    const release = await semaphore.acquire(tenant, { amount: size, signal }).catch(() => {
      throw busy();
    });
    try {
      return await work();
    } finally {
      release();
    }
  };
}

const busy = () =>
  new RequestError(
    "busy",
    "payload",
    "could not be loaded, because other requests are reading large payloads; try again later",
  );
