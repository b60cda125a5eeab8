/** When an endpoint last received something, and of which types. */
import { ago } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import type { Received } from "./source-list.ts";

export const LastReceived = ({ received }: { received: Received | undefined }) =>
  received ? (
    <span className="flex items-center gap-2">
      <SignalHead aspect="green" label="has received events" />
      <span>
        last received {ago(received.lastAt)}
        <span className="block text-ink-3">
          {received.types.slice(0, 4).join(", ")}
          {received.types.length > 4 && ", …"}
        </span>
      </span>
    </span>
  ) : (
    <span className="flex items-center gap-2 text-ink-3">
      <SignalHead aspect="none" label="nothing received" />
      nothing received lately
    </span>
  );
