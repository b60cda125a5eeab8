/** Shows the steps to connect an agent, and whether the agent has called the hub. */

import type { CreatedToken } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { PAGE_SIZE } from "../app/use-paged-list.ts";
import { useNow } from "../runs/use-now.ts";
import { ago } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { type Station, Track } from "../ui/track.tsx";

/** Short, so that the page shows a call soon after it was made. */
const POLL_MS = 2_000;

interface Caller {
  id: string;
  name: string;
  last_used_at: string | null;
}

/** `created` is the token that this page has created. Without it, the agent signs in with OAuth. */
export function CallState({ created }: { created: CreatedToken | undefined }) {
  const now = useNow(true);
  const { tokens, grants, newGrants } = useCallers();
  const caller = lastCallerOf(created ? tokens.filter(({ id }) => id === created.id) : newGrants);
  const earlierCaller = lastCallerOf([...tokens, ...grants]);
  return (
    <section aria-label="State of the connection" className="flex flex-col gap-4">
      <Track
        label="Steps to connect"
        stations={(created ? tokenSteps : signInSteps)(caller !== undefined)}
      />
      <p className="flex items-center gap-3">
        <SignalHead
          aspect={caller ? "green" : created ? "lunar" : "none"}
          label={caller ? "connected" : created ? "waiting" : "not connected yet"}
        />
        {caller ? (
          <b className="font-semibold">The agent called {ago(caller.last_used_at ?? "", now)}.</b>
        ) : (
          <span className="text-ink-2">
            {created
              ? "Waiting for the first call with the new token…"
              : earlierCaller
                ? `“${earlierCaller.name}” called ${ago(earlierCaller.last_used_at ?? "", now)}.`
                : "No agent has called yet."}
          </span>
        )}
      </p>
      {/* Without the time: screen readers would announce each change of it. */}
      <p className="sr-only" role="status">
        {caller ? "The agent has called." : ""}
      </p>
    </section>
  );
}

/**
 * Returns the newest tokens and OAuth grants. `newGrants` are the grants since the page was opened:
 * their ids sort after the id that was the newest then.
 */
function useCallers(): Record<"tokens" | "grants" | "newGrants", readonly Caller[]> {
  const { data: tokens } = useQuery({
    queryKey: ["tokens", "newest"],
    queryFn: () => api.get("/api/tokens", { query: { limit: PAGE_SIZE } }),
    refetchInterval: POLL_MS,
  });
  const { data: grants } = useQuery({
    queryKey: ["oauth-grants", "newest"],
    queryFn: () => api.get("/api/oauth/grants", { query: { limit: PAGE_SIZE } }),
    refetchInterval: POLL_MS,
  });
  const [newestBefore, setNewestBefore] = useState<string>();
  if (grants && newestBefore === undefined) setNewestBefore(grants.items[0]?.id ?? "");
  const clients = (grants?.items ?? []).map((grant) => ({ ...grant, name: grant.client_name }));
  return {
    tokens: tokens?.items ?? [],
    grants: clients,
    newGrants: newestBefore === undefined ? [] : clients.filter(({ id }) => id > newestBefore),
  };
}

const lastCallerOf = (callers: readonly Caller[]): Caller | undefined =>
  callers
    .filter(({ last_used_at }) => last_used_at !== null)
    .toSorted((a, b) => (b.last_used_at ?? "").localeCompare(a.last_used_at ?? ""))[0];

const signInSteps = (isUsed: boolean): Station[] => [
  { key: "paste", name: "Paste the configuration", state: isUsed ? "done" : "now" },
  { key: "sign-in", name: "Sign in with the browser", state: isUsed ? "done" : "next" },
  { key: "call", name: "The agent calls", state: isUsed ? "done" : "next" },
];

const tokenSteps = (isUsed: boolean): Station[] => [
  { key: "token", name: "Create a token", state: "done" },
  { key: "paste", name: "Paste the configuration", state: isUsed ? "done" : "now" },
  { key: "call", name: "The agent calls", state: isUsed ? "done" : "next" },
];
