import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Page, RunItem } from "../api/types.ts";
import { timeOf } from "../runs/run-chip.tsx";
import { lookOfRun } from "../runs/run-words.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago, duration } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";

export function EventRuns({
  runs: { data, error, refetch },
}: {
  runs: UseQueryResult<Page<RunItem>>;
}) {
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={3} height={40} />;
  if (data.items.length === 0)
    return (
      <EmptyState title="This event has started no run">
        “Why” shows every trigger that was considered. A replay evaluates them again.
      </EmptyState>
    );
  return (
    <ul className="flex flex-col gap-2 pb-6">
      {data.items.map((run) => {
        const { aspect, label } = lookOfRun(run.status);
        const took = timeOf(run);
        return (
          <li key={run.id}>
            <Link
              href={`/runs/${run.id}`}
              className="tile flex items-center gap-3 px-3 py-2 hover:border-field"
            >
              <SignalHead aspect={aspect} label={label} />
              <span className="min-w-0 flex-1">
                <b className="block truncate type-strong">{run.flow_name ?? run.flow_id}</b>
                <span className="wrap-anywhere line-clamp-2 type-meta text-ink-3">
                  {run.error?.message ?? `${label}, ${ago(run.created_at)}`}
                </span>
              </span>
              {took !== undefined && <code className="text-ink-2">{duration(took)}</code>}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
