/** The list of runs. Only visible rows are rendered. A button shows new runs. */
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
/** The next page is loaded when the last visible row is this close to the end. */
const ROWS_AHEAD = 30;

export function RunList({
  list,
  selected,
  current,
  onToggle,
  isFiltered,
}: {
  list: RunPages;
  selected: ReadonlySet<string>;
  /** The run that the keyboard has moved to. */
  current: string | undefined;
  onToggle: (id: string) => void;
  isFiltered: boolean;
}) {
  const { items: runs, added, showNew, isPending, error, refetch, hasNextPage } = list;
  const scroller = useRef<HTMLDivElement>(null);
  // A stable function: a new one makes the virtualizer measure all rows again.
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
  useNextPage(list, lastShown >= runs.length - ROWS_AHEAD);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls only when the current run changes
  useEffect(() => {
    const index = runs.findIndex(({ id }) => id === current);
    if (index >= 0) virtual.scrollToIndex(index);
  }, [current]);

  if (error && runs.length === 0)
    return <ErrorState error={error} onRetry={() => void refetch()} />;
  // With a filter, a page can be empty although older runs match.
  if (isPending || (runs.length === 0 && hasNextPage))
    return <SkeletonRows rows={12} height={ROW_PX} />;
  if (runs.length === 0) return <Empty isFiltered={isFiltered} />;
  return (
    <>
      <NewPill
        added={added}
        noun="run"
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

function Empty({ isFiltered }: { isFiltered: boolean }) {
  const isAdmin = useIsAdmin();
  if (isFiltered)
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
