import type { Timers } from "../lib/timers.ts";

/**
 * The database cannot be reached, or does not respond in time. The request may succeed later. This error
 * has no `cause`, because the driver's error can contain the connection, with keys and passwords.
 */
export class StorageUnavailable extends Error {
  readonly code = "storage_unavailable";
}

/** The file of the database is damaged: requests that read the damaged part fail until it is restored. */
export class StorageDamaged extends StorageUnavailable {}

/** The problem of a damaged file, with the fix. */
export const describeDamage = (file: string, reason: string): string =>
  `${file} is damaged, or not a SQLite database (${reason}). Stop the hub, and restore the file from a backup (docs/deploy.md).`;

/** After how many seconds a client should repeat its request. */
export const RETRY_AFTER_S = 5;

/** Callers do not log these errors: `createOutageLog` logs each outage once. */
export const isStorageUnavailable = (error: unknown): error is Error =>
  unavailableOf(error) !== undefined;

/** The message for clients, which does not contain the reason. */
export const unavailableDetail = (error: unknown): string =>
  unavailableOf(error) instanceof StorageDamaged
    ? "The database is damaged, so this request cannot be handled. The operator must restore the database: the log of the hub names the file."
    : `The database is unavailable. Try again in ${RETRY_AFTER_S} seconds.`;

const unavailableOf = (error: unknown): StorageUnavailable | undefined =>
  [error, error instanceof Error && error.cause].find(
    (candidate) => candidate instanceof StorageUnavailable,
  );

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
