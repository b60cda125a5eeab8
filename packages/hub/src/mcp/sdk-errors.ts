/** What a client got wrong: it was answered, and is no failure of ours, though the SDK reports it. */
export const isOfClient = ({ message }: Error): boolean =>
  /^(Rejected|Unsupported (Media Type|protocol version)|subscriptions\/listen refused)/.test(
    message,
  );
