/**
 * Selects the channel for the *event log* that the stream reads (a hub and its tenants). The hub cannot
 * detect a cursor of another log, so the bridge sends its cursor only after the hub has named the log of
 * the token.
 */
import { type Channel, parseJson } from "./channel.ts";
import type { SseMessage } from "./sse-parser.ts";
import { isRecord } from "./stream-event.ts";

export interface LogChannel extends Omit<Channel, "take"> {
  /** `reconnect`: the stream must be opened again, with the cursor of its log. */
  take(message: SseMessage): "reconnect" | undefined;
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
      const named = logOf(message);
      if (!channel || (named !== undefined && named !== log)) {
        // Events that are not announced yet come after the saved cursor, so none is lost.
        channel?.stop();
        log = named ?? "";
        channel = open(log);
        if (resumed || channel.position() !== undefined) return "reconnect";
      }
      channel.take(message);
      return undefined;
    },

    resetPosition: () => channel?.resetPosition(),
    remind: async () => channel?.remind(),
    stop: () => channel?.stop(),
    drained: async () => channel?.drained(),
  };
}

/** Only the first message of a connection names the log. */
function logOf({ data }: SseMessage): string | undefined {
  const message = parseJson(data);
  return isRecord(message) && message.status === "connected" && typeof message.log === "string"
    ? message.log
    : undefined;
}
