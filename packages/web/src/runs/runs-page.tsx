/** All runs: filters, live states, retry, replay and cancel of many. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { useIsAdmin } from "../app/session.ts";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { plural } from "../ui/format.ts";
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
  // Always the same function, so that only the row that changes is drawn again.
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
  const during = async (what: string, work: Promise<void>) => {
    setProgress(what);
    await work;
    setProgress(undefined);
    clear();
    list.refresh();
  };
  // A run that has left the list is not selected any more.
  const chosen = items.filter(({ id }) => selected.has(id));
  const change = (action: "retry" | "cancel", what: string) =>
    void during(
      what,
      changeRuns(
        chosen.map(({ id }) => id),
        action,
      ),
    );
  const replay = () => {
    const onProgress = (nth: number) => setProgress(`Starting run ${nth} of ${chosen.length}`);
    void during("Starting runs", replayRuns(chosen, onProgress));
  };
  const move = (step: number) => {
    const at = items.findIndex(({ id }) => id === current);
    setCurrent(items[at < 0 ? 0 : Math.max(0, Math.min(items.length - 1, at + step))]?.id);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has another selection
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
      <section aria-label="Runs" className="relative flex min-h-0 flex-1 flex-col">
        <RunList
          list={list}
          selected={selected}
          current={current}
          onToggle={toggle}
          isNarrowed={search !== ""}
        />
        <p className="sr-only" role="status">
          {list.added > 0 ? `${plural(list.added, "new run")}. Press N to show them.` : ""}
        </p>
      </section>
      {isAdmin && chosen.length > 0 && (
        <RunSelection
          count={chosen.length}
          all={items.length}
          progress={progress}
          onRetry={() => change("retry", "Retrying runs")}
          onReplay={replay}
          onCancel={() => change("cancel", "Cancelling runs")}
          onAll={() => setSelected(new Set(items.map(({ id }) => id)))}
          onClear={clear}
        />
      )}
    </div>
  );
}
