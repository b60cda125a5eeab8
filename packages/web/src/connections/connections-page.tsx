/** The list of connections, with their status and the numbers of their tools and triggers. */

import type { Connection } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { Plug, Plus } from "lucide-react";
import { useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { api } from "../api/client.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago, plural } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { ConnectionDetail } from "./connection-detail.tsx";
import { ConnectionDialog } from "./connection-dialog.tsx";
import { signalOfConnection } from "./connection-signals.ts";

export default function ConnectionsPage() {
  usePageTitle("Connections");
  const { connection: openId } = useParams<{ connection?: string }>();
  const [, navigate] = useLocation();
  const [isAdding, setAdding] = useState(false);
  const connections = useQuery({
    queryKey: ["connections", "all"],
    queryFn: () => api.get("/api/connections", { query: { limit: 100 } }),
    refetchInterval: 10_000,
  });
  const add = (
    <Button look="primary" icon={Plus} onClick={() => setAdding(true)}>
      Add a connection
    </Button>
  );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex flex-none items-center gap-3 border-line border-b px-5 py-[14px]">
        <h1 className="type-h1">Connections</h1>
        <span className="flex-1" />
        {add}
      </header>
      <div
        className={cx(
          "grid min-h-0 flex-1",
          openId && "grid-cols-[minmax(0,1fr)_clamp(490px,40%,680px)] max-[1100px]:grid-cols-1",
        )}
      >
        <div className={cx("min-h-0 overflow-y-auto", openId && "max-[1100px]:hidden")}>
          {!connections.data ? (
            connections.error ? (
              <ErrorState error={connections.error} onRetry={() => void connections.refetch()} />
            ) : (
              <SkeletonRows rows={4} />
            )
          ) : connections.data.items.length === 0 ? (
            <EmptyState
              title="No MCP server yet"
              command="npx signalbox connection add weather https://weather.example/mcp"
              actions={add}
            >
              Flows call the tools of a connection, and its triggers start flows.
            </EmptyState>
          ) : (
            <ul>
              {connections.data.items.map((connection) => (
                <li key={connection.id}>
                  <Row connection={connection} isOpen={connection.id === openId} />
                </li>
              ))}
            </ul>
          )}
        </div>
        {openId && (
          <ConnectionDetail key={openId} id={openId} onClose={() => navigate("/connections")} />
        )}
      </div>
      {isAdding && (
        <ConnectionDialog
          onClose={() => setAdding(false)}
          onSaved={({ id }) => navigate(`/connections/${id}`)}
        />
      )}
    </div>
  );
}

function Row({ connection, isOpen }: { connection: Connection; isOpen: boolean }) {
  const { aspect, label } = signalOfConnection(connection);
  return (
    <Link
      href={`/connections/${connection.id}`}
      aria-current={isOpen || undefined}
      className={cx(
        "grid min-h-14 grid-cols-[11px_minmax(0,1fr)_auto] items-center gap-x-[14px] border-line border-b px-5 py-2 focus-visible:outline-offset-[-2px]",
        isOpen ? "bg-plate shadow-[inset_3px_0_0_var(--blue)]" : "hover:bg-hover",
      )}
    >
      <SignalHead aspect={aspect} label={label} />
      <span className="min-w-0">
        <b className="flex items-center gap-2 type-strong">
          <Plug className="icon text-ink-3" aria-hidden />
          <span className="truncate">{connection.name}</span>
        </b>
        <span
          className={cx("block truncate type-meta", connection.error ? "text-red" : "text-ink-3")}
        >
          {connection.error ?? connection.url ?? connection.command}
        </span>
      </span>
      <span className="text-right type-meta text-ink-2">
        {plural(connection.tool_count, "tool")}
        {connection.trigger_count > 0 && `, ${plural(connection.trigger_count, "trigger")}`}
        <span className="block text-ink-3">
          {connection.checked_at ? `checked ${ago(connection.checked_at)}` : label}
        </span>
      </span>
    </Link>
  );
}
