/** The signal colours and labels of connections and of their subscriptions. */
import type { Connection, Subscription } from "@signalbox/contract";
import type { Signal } from "../ui/signal-head.tsx";

const CONNECTIONS: Record<Connection["status"], Signal> = {
  ok: { aspect: "green", label: "responds" },
  failed: { aspect: "red", label: "does not respond" },
  needs_authorization: { aspect: "amber", label: "needs authorization" },
  unknown: { aspect: "lunar", label: "not checked yet" },
};
export const signalOfConnection = ({ status }: Pick<Connection, "status">): Signal =>
  CONNECTIONS[status];

const SUBSCRIPTIONS: Record<Subscription["state"], Signal> = {
  configuring: { aspect: "lunar", label: "being configured at the server" },
  active: { aspect: "green", label: "active" },
  paused: { aspect: "none", label: "paused" },
  failed: { aspect: "red", label: "failed" },
};
export const signalOfSubscription = ({
  state,
  error,
}: Pick<Subscription, "state" | "error">): Signal =>
  error !== null && (state === "active" || state === "configuring")
    ? { aspect: "amber", label: "not confirmed" }
    : SUBSCRIPTIONS[state];
