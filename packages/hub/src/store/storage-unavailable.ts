/**
 * The database cannot be reached, or does not respond in time. The request may succeed later. It has
 * a message only: the error of a driver can contain its connection, with keys and passwords.
 */
export class StorageUnavailable extends Error {
  readonly code = "storage_unavailable";
}

/** When a client should repeat its request, in seconds. */
export const RETRY_AFTER_S = 5;

/** Such errors are logged once per outage, by `createOutageLog`. */
export const isStorageUnavailable = (error: unknown): boolean =>
  error instanceof StorageUnavailable ||
  (error instanceof Error && error.cause instanceof StorageUnavailable);
