/** The message for unexpected errors, which hides their cause from clients. */
export const INTERNAL_ERROR =
  "The hub failed to handle the request; its log has the reason. Try again later.";

/** Whether a client caused the error that the SDK reports. Such a client has already got a response. */
export const isClientError = ({ message }: Error): boolean =>
  /^(Rejected|Unsupported (Media Type|protocol version)|subscriptions\/listen refused)/.test(
    message,
  );
