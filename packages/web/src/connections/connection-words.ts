import type { Connection, Subscription } from "../api/types.ts";
import type { Aspect } from "../ui/signal-head.tsx";

interface Look {
  aspect: Aspect;
  label: string;
}

const CONNECTIONS: Record<Connection["status"], Look> = {
  ok: { aspect: "green", label: "responds" },
  failed: { aspect: "red", label: "does not respond" },
  needs_authorization: { aspect: "amber", label: "needs authorization" },
  unknown: { aspect: "lunar", label: "not checked yet" },
};
export const lookOfConnection = ({ status }: Pick<Connection, "status">): Look =>
  CONNECTIONS[status];

const SUBSCRIPTIONS: Record<Subscription["state"], Look> = {
  configuring: { aspect: "lunar", label: "being configured at the server" },
  active: { aspect: "green", label: "active" },
  paused: { aspect: "none", label: "paused" },
  failed: { aspect: "red", label: "failed" },
};
export const lookOfSubscription = ({ state }: Pick<Subscription, "state">): Look =>
  SUBSCRIPTIONS[state];
