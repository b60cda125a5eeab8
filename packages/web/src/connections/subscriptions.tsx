/** The trigger subscriptions of a connection: the flows that use it, and the states at its server. */

import type { Subscription } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client.ts";
import { IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { signalOfSubscription } from "./connection-signals.ts";
import { RotateTokenDialog } from "./rotate-token-dialog.tsx";

export function Subscriptions({ connection }: { connection: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["connections", "subscriptions", connection],
    queryFn: () =>
      api.get("/api/connections/:connection/subscriptions", { params: { connection } }),
    refetchInterval: 5_000,
  });
  const flows = useQuery({
    queryKey: ["flows", "palette"],
    queryFn: () => api.get("/api/flows", { query: { limit: 100 } }),
  });
  const [rotated, setRotated] = useState<Subscription>();
  const nameOf = ({ flow_id }: Subscription) =>
    flows.data?.items.find(({ id }) => id === flow_id)?.name ?? flow_id;
  if (!data)
    return error ? (
      <ErrorState error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={3} />
    );
  if (data.items.length === 0)
    return (
      <EmptyState title="No flow listens to this server">
        Publish a flow with an Event trigger for this connection. The hub then subscribes to the
        trigger at the server.
      </EmptyState>
    );
  return (
    <>
      <ul className="flex flex-col gap-2 pb-6">
        {data.items.map((subscription) => {
          const { aspect, label } = signalOfSubscription(subscription);
          return (
            <li key={subscription.id} className="tile flex items-start gap-3 px-3 py-2">
              <SignalHead aspect={aspect} label={label} />
              <span className="min-w-0 flex-1">
                <Link
                  href={`/flows/${subscription.flow_id}?node=${encodeURIComponent(subscription.node_id)}`}
                  className="wrap-anywhere block type-strong hover:underline"
                >
                  {nameOf(subscription)}
                </Link>
                <span className="wrap-anywhere block type-meta text-ink-2">
                  <code>{subscription.type || "any type"}</code>, {label},{" "}
                  {subscription.last_fired_at
                    ? `last fired ${ago(subscription.last_fired_at)}`
                    : "has not fired yet"}
                </span>
                {subscription.error && (
                  <span className="wrap-anywhere block type-meta text-red">
                    {subscription.error}
                  </span>
                )}
              </span>
              <IconButton
                size="small"
                icon={KeyRound}
                label={`New callback token for ${nameOf(subscription)}`}
                onClick={() => setRotated(subscription)}
              />
            </li>
          );
        })}
      </ul>
      {rotated && (
        <RotateTokenDialog
          connection={connection}
          subscription={rotated}
          flowName={nameOf(rotated)}
          onClose={() => setRotated(undefined)}
        />
      )}
    </>
  );
}
