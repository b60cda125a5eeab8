/** The list of runs with filters, and with actions for selected runs. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { useIsAdmin } from "../app/session.ts";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { plural } from "../ui/format.ts";
import { QueueStrip } from "./queue-strip.tsx";
import { changeRuns, replayRuns } from "./run-actions.ts";
import { readRunFilter, writeRunFilter } from "./run-filter.ts";
import { RunFilters } from "./run-filters.tsx";
import { RunList } from "./run-list.tsx";
import { RunSelection } from "./run-selection.tsx";
import { useRuns } from "./use-runs.ts";

export default function RunsPage() {
  usePageTitle("Runs");
  const search = useSearch();
  const [, navigate] = useLocation();
  const filter = useMemo(() => readRunFilter(search), [search]);
  const list = useRuns(filter);
  const { items } = list;
  const isAdmin = useIsAdmin();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const [progress, setProgress] = useState<string>();
  // A stable function, so that only the row that changes is rendered again.
  const toggle = useCallback(
    (id: string) =>
      setSelected((ids) => {
        const next = new Set(ids);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  const clear = () => setSelected(new Set());
  const showProgress = async (text: string, work: Promise<void>) => {
    setProgress(text);
    await work;
    setProgress(undefined);
    clear();
    list.refresh();
  };
  // Excludes selected runs that are no longer in the list.
  const selectedRuns = items.filter(({ id }) => selected.has(id));
  const change = (action: "retry" | "cancel", text: string) =>
    void showProgress(
      text,
      changeRuns(
        selectedRuns.map(({ id }) => id),
        action,
      ),
    );
  const replay = () => {
    const onProgress = (position: number) =>
      setProgress(`Starting run ${position} of ${selectedRuns.length}`);
    void showProgress("Starting runs", replayRuns(selectedRuns, onProgress));
  };
  const move = (step: number) => {
    const index = items.findIndex(({ id }) => id === current);
    setCurrent(items[index < 0 ? 0 : Math.max(0, Math.min(items.length - 1, index + step))]?.id);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the filter clears the selection
  useEffect(() => {
    clear();
    setCurrent(undefined);
  }, [search]);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => current !== undefined && toggle(current),
    n: () => void list.showNew(),
    enter: () => current !== undefined && navigate(`/runs/${current}`),
    escape: clear,
  });

  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex flex-none flex-wrap items-center gap-2 border-line border-b px-5 py-[14px]">
        <h1 className="mr-4 type-h1">Runs</h1>
        <RunFilters
          filter={filter}
          onChange={(change) => navigate(`/runs${writeRunFilter({ ...filter, ...change })}`)}
        />
      </header>
      <QueueStrip />
      <section aria-label="Runs" className="relative flex min-h-0 flex-1 flex-col">
        <RunList
          list={list}
          selected={selected}
          current={current}
          onToggle={toggle}
          isFiltered={search !== ""}
        />
        <p className="sr-only" role="status">
          {list.added > 0 ? `${plural(list.added, "new run")}. Press N to show them.` : ""}
        </p>
      </section>
      {isAdmin && selectedRuns.length > 0 && (
        <RunSelection
          count={selectedRuns.length}
          total={items.length}
          progress={progress}
          onRetry={() => change("retry", "Retrying runs")}
          onReplay={replay}
          onCancel={() => change("cancel", "Cancelling runs")}
          onSelectAll={() => setSelected(new Set(items.map(({ id }) => id)))}
          onClear={clear}
        />
      )}
    </div>
  );
}
