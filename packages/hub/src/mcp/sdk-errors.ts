import { isStorageUnavailable, RETRY_AFTER_S } from "../store/storage-unavailable.ts";

/** The message for unexpected errors, which hides their cause from clients. */
const INTERNAL_ERROR =
  "The hub failed to handle the request; its log has the reason. Try again later.";
const STORAGE_UNAVAILABLE = `The hub's database is unavailable. Try again in ${RETRY_AFTER_S} seconds.`;

/** Reports an unexpected error, and returns the message for the client. */
export function unexpectedError(error: unknown, onError: (error: unknown) => void): string {
  onError(error);
  return isStorageUnavailable(error) ? STORAGE_UNAVAILABLE : INTERNAL_ERROR;
}

/**
 * Returns whether a client caused the error that the SDK reports. The SDK has already sent a
 * response.
 */
export const isClientError = ({ message }: Error): boolean =>
  /^(Rejected|Unsupported (Media Type|protocol version)|subscriptions\/listen refused)/.test(
    message,
  );
