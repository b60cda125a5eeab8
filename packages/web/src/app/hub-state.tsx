/** Shows the state of this tab's live stream, and the names of the tenant and the hub. */

import type { Session } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { ShieldAlert } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { chosenTenant } from "../api/tenant.ts";
import { useLive, useLiveState } from "../api/use-live.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { queryClient } from "./query-client.ts";
import { refreshOnChange } from "./refresh-on-change.ts";
import { sessionQuery } from "./session.ts";
import { tenantNameQuery } from "./tenant-name.ts";

const STATES = {
  live: { aspect: "green", name: "Live", note: "Events appear as they arrive." },
  connecting: { aspect: "lunar", name: "Connecting", note: "The live stream is being opened." },
  lost: {
    aspect: "red",
    name: "Not live",
    note: "The hub does not respond. The page reconnects automatically and continues where it stopped.",
  },
} as const;

export function HubState({ session, children }: { session: Session; children: ReactNode }) {
  const state = useLiveState();
  const { aspect, name, note } = STATES[state];
  const tenant = chosenTenant();
  const { data: tenantName = tenant } = useQuery({
    ...tenantNameQuery(tenant ?? ""),
    enabled: tenant !== undefined,
  });
  useLive("changes", refreshOnChange);
  useEffect(() => {
    // Browsers do not report why a stream ended. If it was the end of the session, the app then shows
    // the sign-in page.
    if (state === "lost") void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
  }, [state]);
  return (
    <div className="-mx-[10px] sticky bottom-0 mt-2 flex flex-none items-center gap-[10px] max-[900px]:flex-col max-[900px]:px-0 border-line border-t bg-page px-[18px] py-[11px] type-meta text-ink-2">
      <SignalHead aspect={aspect} label={name} />
      <span className="min-w-0 flex-1 max-[900px]:sr-only" title={note} role="status">
        <b className="block font-semibold text-ink">{name}</b>
        <span className="block truncate">
          {state === "lost"
            ? "Reconnecting…"
            : [tenantName, new URL(session.hub.url).host].filter(Boolean).join(" · ")}
        </span>
      </span>
      {session.hub.accepts_unsigned && (
        <Tooltip text="Webhooks without a signature are accepted: any program on this machine can send events of sources without a secret. Set a secret, such as GITHUB_WEBHOOK_SECRET.">
          <button
            type="button"
            aria-label="Webhooks without a signature are accepted"
            className="rounded-chip text-amber"
          >
            <ShieldAlert className="icon" aria-hidden />
          </button>
        </Tooltip>
      )}
      {children}
    </div>
  );
}
