/** The steps to connect an agent, and whether it has called. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import type { CreatedToken, OAuthGrant, Page, Token } from "../api/types.ts";
import { PAGE_SIZE } from "../app/use-paged-list.ts";
import { useNow } from "../runs/use-now.ts";
import { ago } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { type Station, Track } from "../ui/track.tsx";

/** A call is shown soon after it was made. */
const POLL_MS = 2_000;

interface Caller {
  id: string;
  name: string;
  last_used_at: string | null;
}

/** `created`: the token of this page. Without it, the agent signs in. */
export function CallState({ created }: { created: CreatedToken | undefined }) {
  const now = useNow(true);
  const { tokens, grants, newGrants } = useCallers();
  const called = newestOf(created ? tokens.filter(({ id }) => id === created.id) : newGrants);
  const before = newestOf([...tokens, ...grants]);
  return (
    <section aria-label="State of the connection" className="flex flex-col gap-4">
      <Track
        label="Steps to connect"
        stations={(created ? tokenSteps : signInSteps)(called !== undefined)}
      />
      <p className="flex items-center gap-3">
        <SignalHead
          aspect={called ? "green" : created ? "lunar" : "none"}
          label={called ? "connected" : created ? "waiting" : "not connected yet"}
        />
        {called ? (
          <b className="font-semibold">It called {ago(called.last_used_at ?? "", now)}.</b>
        ) : (
          <span className="text-ink-2">
            {created
              ? "Waiting for the first call with the new token…"
              : before
                ? `“${before.name}” called ${ago(before.last_used_at ?? "", now)}.`
                : "No agent has called yet."}
          </span>
        )}
      </p>
      {/* Without the time, which would be announced every second. */}
      <p className="sr-only" role="status">
        {called ? "The agent has called." : ""}
      </p>
    </section>
  );
}

/**
 * The newest tokens and OAuth clients, and the OAuth clients that were allowed since the page was opened:
 * their ids sort after the newest one of before.
 */
function useCallers(): Record<"tokens" | "grants" | "newGrants", readonly Caller[]> {
  const { data: tokens } = useQuery({
    queryKey: ["tokens", "newest"],
    queryFn: () => api.get<Page<Token>>("/api/tokens", { limit: PAGE_SIZE }),
    refetchInterval: POLL_MS,
  });
  const { data: grants } = useQuery({
    queryKey: ["oauth-grants", "newest"],
    queryFn: () => api.get<Page<OAuthGrant>>("/api/oauth/grants", { limit: PAGE_SIZE }),
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

const newestOf = (callers: readonly Caller[]): Caller | undefined =>
  callers
    .filter(({ last_used_at }) => last_used_at !== null)
    .toSorted((a, b) => (b.last_used_at ?? "").localeCompare(a.last_used_at ?? ""))[0];

const signInSteps = (isUsed: boolean): Station[] => [
  { key: "paste", name: "Paste the configuration", state: isUsed ? "done" : "now" },
  { key: "sign-in", name: "Sign in by browser", state: isUsed ? "done" : "next" },
  { key: "call", name: "It calls", state: isUsed ? "done" : "next" },
];

const tokenSteps = (isUsed: boolean): Station[] => [
  { key: "token", name: "Create a token", state: "done" },
  { key: "paste", name: "Paste the configuration", state: isUsed ? "done" : "now" },
  { key: "call", name: "It calls", state: isUsed ? "done" : "next" },
];
