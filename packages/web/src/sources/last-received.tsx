/** Shows when an endpoint last received an event, and the types of its recent events. */
import { ago } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import type { ReceivedEvents } from "./source-list.ts";

/** The recent events of each endpoint, by its id; undefined until they are loaded. */
export type ReceivedByEndpoint = ReadonlyMap<string, ReceivedEvents> | undefined;

export function LastReceived({
  receivedByEndpoint,
  id,
  isRejecting = false,
}: {
  receivedByEndpoint: ReceivedByEndpoint;
  id: string;
  /** Whether the endpoint now rejects all webhooks. */
  isRejecting?: boolean;
}) {
  if (receivedByEndpoint === undefined) return null;
  const received = receivedByEndpoint.get(id);
  if (!received)
    return (
      <span className="flex items-center gap-2 text-ink-3">
        <SignalHead aspect="none" label="nothing received" />
        nothing received lately
      </span>
    );
  return (
    <span className="flex items-center gap-2">
      {isRejecting ? (
        <SignalHead aspect="red" label="rejects webhooks now" />
      ) : (
        <SignalHead aspect="green" label="has received events" />
      )}
      <span className="min-w-0">
        last received {ago(received.lastAt)}
        <span className="wrap-anywhere line-clamp-2 text-ink-3">
          {received.types.slice(0, 4).join(", ")}
          {received.types.length > 4 && ", …"}
        </span>
      </span>
    </span>
  );
}
