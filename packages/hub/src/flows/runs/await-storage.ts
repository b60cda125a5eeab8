import type { Timers } from "../../kernel/lib/timers.ts";
import { isStorageUnavailable } from "../../kernel/store/storage-unavailable.ts";

const RETRY_MS = 500;

/** Retries work that fails because the storage is unavailable, as long as `canRetry` returns true. */
export async function awaitStorage<Result>(
  { after }: Pick<Timers, "after">,
  canRetry: () => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isStorageUnavailable(error) || !canRetry()) throw error;
      await new Promise<void>((resolve) => after(RETRY_MS, resolve));
      if (!canRetry()) throw error;
    }
  }
}
