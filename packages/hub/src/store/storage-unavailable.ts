/**
 * The database cannot be reached, or does not respond in time. The request may succeed later. This error
 * has no `cause`, because the driver's error can contain the connection, with keys and passwords.
 */
export class StorageUnavailable extends Error {
  readonly code = "storage_unavailable";
}

/** After how many seconds a client should repeat its request. */
export const RETRY_AFTER_S = 5;

/** Callers do not log these errors: `createOutageLog` logs each outage once. */
export const isStorageUnavailable = (error: unknown): error is Error =>
  error instanceof StorageUnavailable ||
  (error instanceof Error && error.cause instanceof StorageUnavailable);
