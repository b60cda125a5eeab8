/** The webhooks that GitHub failed to deliver, and the hub's last check for them. */

import type { Redelivery, Redeliveries as View } from "@signalbox/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { isStatus } from "../api/problem.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { ago, clock, count, plural } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { type Signal, SignalHead } from "../ui/signal-head.tsx";
import { toastError, toasts } from "../ui/toast.tsx";

const QUERY_KEY = ["redeliveries"];

export function Redeliveries() {
  const redeliveries = useQuery({
    queryKey: QUERY_KEY,
    queryFn: () => api.get("/api/github/redeliveries"),
    refetchInterval: 10_000,
    retry: false,
  });
  // A session of one tenant may not see the webhooks of other tenants.
  if (isStatus(redeliveries.error, 403)) return null;
  if (redeliveries.data && !redeliveries.data.is_enabled) return null;
  return (
    <section aria-labelledby="redeliveries">
      <h2 id="redeliveries" className="mb-1 type-h2">
        Failed webhooks of the GitHub App
      </h2>
      <Loaded query={redeliveries} rows={2} height={44}>
        {(view) => (
          <>
            <LastCheck view={view} />
            {view.items.length > 0 && (
              <ul className="tile mt-3 divide-y divide-line">
                {view.items.map((redelivery) => (
                  <RedeliveryRow key={redelivery.guid} redelivery={redelivery} />
                ))}
              </ul>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

function LastCheck({ view: { sweep, counts } }: { view: View }) {
  if (sweep?.error)
    return (
      <p role="alert" className="flex gap-3">
        <SignalHead aspect="red" label="failed" />
        <span className="wrap-anywhere">
          {sweep.error} <span className="text-ink-3">Next check at {clock(sweep.next_at)}.</span>
        </span>
      </p>
    );
  const numbers = [
    counts.open > 0 && `${count(counts.open)} open`,
    counts.given_up > 0 && `${count(counts.given_up)} given up`,
    counts.delivered > 0 && `${count(counts.delivered)} redelivered`,
  ].filter((text) => text !== false);
  const completedAt = sweep?.completed_at;
  return (
    <p className="text-ink-2">
      {completedAt ? `Checked ${ago(completedAt)}` : "The first check has not finished"}
      {numbers.length > 0 ? `: ${numbers.join(", ")}.` : "."}
      {completedAt && numbers.length === 0 && " GitHub has delivered all webhooks."}
    </p>
  );
}

const SIGNALS: Record<Redelivery["state"], Signal> = {
  open: { aspect: "lunar", label: "open" },
  given_up: { aspect: "red", label: "given up" },
  delivered: { aspect: "green", label: "delivered" },
};

function RedeliveryRow({ redelivery }: { redelivery: Redelivery }) {
  const retry = useMutation({
    mutationFn: () =>
      api.post("/api/github/redeliveries/:guid/retry", { params: { guid: redelivery.guid } }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: QUERY_KEY });
      toasts.add({ aspect: "green", title: "The hub asks GitHub for the webhook again" });
    },
    onError: toastError,
  });
  const { state, event, action, guid, status, status_code, requests, note } = redelivery;
  const type = action === null ? event : `${event}.${action}`;
  return (
    <li className="grid grid-cols-[30px_200px_minmax(0,1fr)_200px_110px_100px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-[30px_minmax(0,1fr)]">
      <SignalHead {...SIGNALS[state]} />
      <code className="wrap-anywhere" title={guid}>
        {type}
      </code>
      <span className="wrap-anywhere type-meta text-ink-2">
        {status}
        {status_code > 0 && !status.includes(String(status_code)) && ` (${status_code})`}
        {note !== null && `. ${note}`}
      </span>
      <span className="type-meta text-ink-2">
        {requests === 0 ? "not requested" : plural(requests, "request")}
        {redelivery.next_at !== null && requests > 0 && `, next at ${clock(redelivery.next_at)}`}
      </span>
      <span className="text-right type-meta text-ink-3">{ago(redelivery.failed_at)}</span>
      <span className="text-right max-[900px]:col-start-2 max-[900px]:text-left">
        {redelivery.can_retry && (
          <Button
            size="small"
            aria-label={`Try again: ${type}`}
            busy={retry.isPending}
            onClick={() => retry.mutate()}
          >
            Try again
          </Button>
        )}
      </span>
    </li>
  );
}
