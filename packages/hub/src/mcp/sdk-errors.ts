/** The message for unexpected errors, which hides their cause from clients. */
export const INTERNAL_ERROR =
  "The hub failed to handle the request; its log has the reason. Try again later.";

/** Whether the SDK reports an error that a client caused; the client has got a response already. */
export const isClientError = ({ message }: Error): boolean =>
  /^(Rejected|Unsupported (Media Type|protocol version)|subscriptions\/listen refused)/.test(
    message,
  );
