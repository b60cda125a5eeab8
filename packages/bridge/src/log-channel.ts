/**
 * The channel of whichever log the stream turns out to be of. A place is a mere number, which fits
 * every log: so the hub first says whose log the token opens, and only then hears our place in it.
 */
import { type Channel, parseJson } from "./channel.ts";
import type { SseMessage } from "./sse-parser.ts";
import { isRecord } from "./stream-event.ts";

export interface LogChannel extends Omit<Channel, "take"> {
  /** `again`: the stream is not the one that we need; it has to be opened after our place. */
  take(message: SseMessage): "again" | undefined;
}

export function createLogChannel(open: (log: string) => Channel): LogChannel {
  let log: string | undefined;
  let channel: Channel | undefined;
  let resumed = false;

  return {
    position: () => channel?.position(),

    opened(stream) {
      resumed = stream.resumed;
      channel?.opened(stream);
    },

    take(message) {
      const told = logOf(message);
      if (!channel || (told !== undefined && told !== log)) {
        // What it has not told yet it has not remembered either: it waits in that log.
        channel?.stop();
        log = told ?? "";
        channel = open(log);
        if (resumed || channel.position() !== undefined) return "again";
      }
      channel.take(message);
      return undefined;
    },

    forgetPosition: () => channel?.forgetPosition(),
    remind: async () => channel?.remind(),
    stop: () => channel?.stop(),
    settled: async () => channel?.settled(),
  };
}

/** Only the first message of a connection says so. */
function logOf({ data }: SseMessage): string | undefined {
  const message = parseJson(data);
  return isRecord(message) && message.status === "connected" && typeof message.log === "string"
    ? message.log
    : undefined;
}
