import type { Page, RunItem } from "@signalbox/contract";
import { Link } from "wouter";
import { runDuration } from "../runs/run-chip.tsx";
import { signalOfRun } from "../runs/signal-of-run.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { ago, duration } from "../ui/format.ts";
import { type Loadable, Loaded } from "../ui/loaded.tsx";
import { SignalHead } from "../ui/signal-head.tsx";

export const EventRuns = ({ runs }: { runs: Loadable<Page<RunItem>> }) => (
  <Loaded query={runs} height={40}>
    {({ items }) =>
      items.length === 0 ? (
        <EmptyState title="This event has started no run">
          The tab “Why” shows the reasons of every trigger. A replay evaluates the triggers again.
        </EmptyState>
      ) : (
        <ul className="flex flex-col gap-2 pb-6">
          {items.map((run) => (
            <li key={run.id}>
              <RunLink run={run} />
            </li>
          ))}
        </ul>
      )
    }
  </Loaded>
);

function RunLink({ run }: { run: RunItem }) {
  const { aspect, label } = signalOfRun(run.status);
  const took = runDuration(run);
  return (
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
  );
}
