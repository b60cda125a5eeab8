/** Shows the size of the database, what the hub stores for this tenant, and for how long. */

import type { DatabaseSize, Stats } from "@signalbox/contract";
import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../api/client.ts";
import { useSession } from "../app/session.ts";
import { statsQuery } from "../inbox/inbox-header.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago, bytes, count } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { settingsQuery } from "./settings-in-force.tsx";
import { TenantLimits } from "./tenant-limits.tsx";

export function Storage() {
  const stats = useQuery(statsQuery);
  return (
    <>
      <Loaded query={stats} rows={4} height={36}>
        {(data) => <StoredData stats={data} />}
      </Loaded>
      <TenantLimits />
    </>
  );
}

/** Only operators may see it. */
const databaseSizeQuery = queryOptions({
  queryKey: ["storage"],
  queryFn: () => api.get("/api/storage"),
  retry: false,
});

function StoredData({ stats }: { stats: Stats }) {
  const { data: session } = useSession();
  const settings = useQuery(settingsQuery);
  const database = useQuery(databaseSizeQuery).data;
  const { total, pending, bytes: size } = stats.events;
  const retentionSettings =
    settings.data?.items.filter(({ variable }) => variable.startsWith("SIGNALBOX_KEEP")) ?? [];
  const rows: [string, ReactNode][] = [
    ["Database", session?.hub.storage],
    ["Version", session?.hub.version],
    ["Started", session && ago(session.hub.started_at)],
    ["Events ever received", count(total)],
    ["Waiting events", count(pending)],
    ["Size of the stored events", bytes(size)],
    ["Size of the ended runs", bytes(stats.runs_bytes)],
    ...(database ? sizeRows(database) : []),
    ...retentionSettings.map(({ variable, value, help }): [string, ReactNode] => [
      help,
      <span key={variable}>
        {value ?? "not set"} <code className="text-ink-3">{variable}</code>
      </span>,
    ]),
  ];
  return (
    <>
      <dl className="tile mb-4 divide-y divide-line">
        {rows.map(([name, value]) => (
          <div key={name} className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)] gap-4 px-4 py-2">
            <dt className="text-ink-2">{name}</dt>
            <dd className="wrap-anywhere">{value}</dd>
          </div>
        ))}
      </dl>
      {/* The list above lacks the settings of retention, and this error says why. */}
      {settings.error && !settings.data && (
        <ErrorState compact error={settings.error} onRetry={() => void settings.refetch()} />
      )}
    </>
  );
}

/** The sizes of all tenants. */
function sizeRows({
  bytes: total,
  used_bytes: used,
  events_bytes: events,
  runs_bytes: runs,
  free_bytes: free,
  wal_bytes: wal,
  can_shrink,
}: DatabaseSize): [string, ReactNode][] {
  const other = Math.max(0, used - events - runs);
  return [
    [
      "Size of the database",
      <span key="size">
        {bytes(total)}
        {wal !== null && `, of it ${bytes(wal)} in the write-ahead log (WAL)`}
        {!can_shrink && (
          <span className="block text-ink-2">
            An earlier version created the file, so it cannot shrink. Stop the hub, and run{" "}
            <code>npx signalbox compact</code> once.
          </span>
        )}
      </span>,
    ],
    [
      "Data in the database",
      `events ${bytes(events)}, runs ${bytes(runs)}, other data ${bytes(other)}${free === null ? "" : `, free ${bytes(free)}`}`,
    ],
  ];
}
