/** The rows of the list of runs, only those that are visible, and the runs that wait to be shown. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useRef } from "react";
import { NextPage, useNextPage } from "../app/next-page.tsx";
import { useIsAdmin } from "../app/session.ts";
import { ButtonLink } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { NewPill } from "../ui/new-pill.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { RunRow } from "./run-row.tsx";
import type { RunPages } from "./use-runs.ts";

const ROW_PX = 52;
const AHEAD = 30;

export function RunList({
  list,
  selected,
  current,
  onToggle,
  isNarrowed,
}: {
  list: RunPages;
  selected: ReadonlySet<string>;
  current: string | undefined;
  onToggle: (id: string) => void;
  isNarrowed: boolean;
}) {
  const { items: runs, added, showNew, isPending, error, refetch, hasNextPage } = list;
  const scroller = useRef<HTMLDivElement>(null);
  // Another function makes the virtualizer measure all rows again.
  const getItemKey = useCallback((index: number) => runs[index]?.id ?? index, [runs]);
  const virtual = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey,
    overscan: 10,
  });
  const rows = virtual.getVirtualItems();
  const lastShown = rows.at(-1)?.index ?? 0;
  useNextPage(list, lastShown >= runs.length - AHEAD);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another run is current
  useEffect(() => {
    const index = runs.findIndex(({ id }) => id === current);
    if (index >= 0) virtual.scrollToIndex(index);
  }, [current]);

  if (error && runs.length === 0)
    return <ErrorState error={error} onRetry={() => void refetch()} />;
  // A page of a filter can be empty although older runs match.
  if (isPending || (runs.length === 0 && hasNextPage))
    return <SkeletonRows rows={12} height={ROW_PX} />;
  if (runs.length === 0) return <Empty isNarrowed={isNarrowed} />;
  return (
    <>
      <NewPill
        added={added}
        one="run"
        onClick={() => {
          scroller.current?.scrollTo({ top: 0 });
          void showNew();
        }}
      />
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
        <ol className="relative" style={{ height: virtual.getTotalSize() }}>
          {rows.map(({ index, start, size, key }) => {
            const run = runs[index];
            return (
              run && (
                <li
                  key={key}
                  className="absolute top-0 w-full"
                  style={{ transform: `translateY(${start}px)`, height: size }}
                >
                  <RunRow
                    run={run}
                    isCurrent={run.id === current}
                    isSelected={selected.has(run.id)}
                    isSelecting={selected.size > 0}
                    onToggle={onToggle}
                  />
                </li>
              )
            );
          })}
        </ol>
        <NextPage list={list} height={ROW_PX} />
      </div>
    </>
  );
}

function Empty({ isNarrowed }: { isNarrowed: boolean }) {
  const isAdmin = useIsAdmin();
  if (isNarrowed)
    return (
      <EmptyState
        title="No run matches these filters"
        actions={<ButtonLink to="/runs">Show all runs</ButtonLink>}
      />
    );
  return (
    <EmptyState
      title="Nothing has run yet"
      command={isAdmin ? "npx signalbox send github issues --action opened" : undefined}
      actions={isAdmin && <ButtonLink to="/flows">Go to the flows</ButtonLink>}
    >
      A published flow runs when an event matches its trigger, at the times of its schedule, or when
      an agent calls its tool.
    </EmptyState>
  );
}
