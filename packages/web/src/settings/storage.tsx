/** What the hub stores for this tenant, and how long. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useSession } from "../app/session.ts";
import { statsQuery } from "../inbox/strip.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago, bytes, count } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { settingsQuery } from "./in-force.tsx";

export function Storage() {
  const { data: session } = useSession();
  const stats = useQuery(statsQuery);
  const settings = useQuery(settingsQuery);
  if (stats.error) return <ErrorState error={stats.error} onRetry={() => void stats.refetch()} />;
  if (!stats.data) return <SkeletonRows rows={4} height={36} />;
  const { total, pending, bytes: size, quota } = stats.data.events;
  const kept =
    settings.data?.items.filter(({ variable }) => variable.startsWith("SIGNALBOX_KEEP")) ?? [];
  const rows: [string, ReactNode][] = [
    ["Database", session?.hub.storage],
    ["Version", session?.hub.version],
    ["Started", session && ago(session.hub.started_at)],
    ["Events ever received", count(total)],
    ["Waiting events", count(pending)],
    ["Size of stored payloads", bytes(size)],
    ["Quota of waiting events", quota === null ? "none" : count(quota)],
    ...kept.map(({ variable, value, help }): [string, ReactNode] => [
      help,
      <span key={variable}>
        {value ?? "not set"} <code className="text-ink-3">{variable}</code>
      </span>,
    ]),
  ];
  return (
    <dl className="tile divide-y divide-line">
      {rows.map(([name, value]) => (
        <div key={name} className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)] gap-4 px-4 py-2">
          <dt className="text-ink-2">{name}</dt>
          <dd className="wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
