import { isStorageUnavailable, unavailableDetail } from "../store/storage-unavailable.ts";

/** The message for unexpected errors, which hides their cause from clients. */
const INTERNAL_ERROR =
  "The hub failed to handle the request; its log has the reason. Try again later.";

/** Reports an unexpected error, and returns the message for the client. */
export function unexpectedError(error: unknown, onError: (error: unknown) => void): string {
  onError(error);
  return isStorageUnavailable(error) ? unavailableDetail(error) : INTERNAL_ERROR;
}

/**
 * Returns whether a client caused the error that the SDK reports. The SDK has already sent a
 * response.
 */
export const isClientError = ({ message }: Error): boolean =>
  /^(Rejected|Unsupported (Media Type|protocol version)|subscriptions\/listen refused)/.test(
    message,
  );
