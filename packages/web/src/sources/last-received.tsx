/** When an endpoint last received something, and of which types. */
import { ago } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import type { Received } from "./source-list.ts";

/** By the id of the endpoint. Undefined until it has loaded. */
export type ReceivedByEndpoint = ReadonlyMap<string, Received> | undefined;

export function LastReceived({
  all,
  id,
  rejects = false,
}: {
  all: ReceivedByEndpoint;
  id: string;
  /** The endpoint rejects all webhooks now. */
  rejects?: boolean;
}) {
  if (all === undefined) return null;
  const received = all.get(id);
  if (!received)
    return (
      <span className="flex items-center gap-2 text-ink-3">
        <SignalHead aspect="none" label="nothing received" />
        nothing received lately
      </span>
    );
  return (
    <span className="flex items-center gap-2">
      {rejects ? (
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
