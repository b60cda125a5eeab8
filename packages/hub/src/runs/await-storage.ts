import type { Timers } from "../lib/timers.ts";
import { isStorageUnavailable } from "../store/storage-unavailable.ts";

const RETRY_MS = 500;

/** Repeats work that fails because the storage is unavailable, while `mayRepeat` returns true. */
export async function awaitStorage<Result>(
  { after }: Pick<Timers, "after">,
  mayRepeat: () => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isStorageUnavailable(error) || !mayRepeat()) throw error;
      await new Promise<void>((resolve) => after(RETRY_MS, resolve));
      if (!mayRepeat()) throw error;
    }
  }
}
