/** All runs: filters, live states, retry, replay and cancel of many. */

import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Ban, Clock, RotateCcw, RotateCw, Workflow, X, Zap } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { api } from "../api/client.ts";
import type { FlowSummary, Page } from "../api/types.ts";
import { NextPage, useNextPage } from "../app/next-page.tsx";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { Button, ButtonLink, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { plural } from "../ui/format.ts";
import { Menu } from "../ui/menu.tsx";
import { NewPill } from "../ui/new-pill.tsx";
import { Segments } from "../ui/segments.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { changeRuns, replayRuns } from "./run-actions.ts";
import {
  CAUSES,
  causeName,
  RUN_VIEWS,
  type RunFilter,
  type RunPeriod,
  type RunView,
  readRunFilter,
  writeRunFilter,
} from "./run-filter.ts";
import { RunRow } from "./run-row.tsx";
import { useRuns } from "./use-runs.ts";

const VIEW_NAMES: Record<RunView, string> = {
  all: "All",
  active: "Under way",
  succeeded: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};
const PERIOD_NAMES: Record<RunPeriod, string> = {
  "1h": "Last hour",
  "24h": "Last 24 h",
  "7d": "Last 7 days",
};
const ROW_PX = 52;
const AHEAD = 30;

export default function RunsPage() {
  usePageTitle("Runs");
  const search = useSearch();
  const [, navigate] = useLocation();
  const filter = useMemo(() => readRunFilter(search), [search]);
  const list = useRuns(filter);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState(-1);
  const go = (change: Partial<RunFilter>) =>
    navigate(`/runs${writeRunFilter({ ...filter, ...change })}`);
  const toggle = (id: string) =>
    setSelected((ids) => {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const clear = () => setSelected(new Set());
  const [isBusy, setBusy] = useState(false);
  const during = async (work: Promise<void>) => {
    setBusy(true);
    await work;
    setBusy(false);
    clear();
    list.refresh();
  };
  const act = (action: "retry" | "cancel") => void during(changeRuns([...selected], action));
  const replay = () => void during(replayRuns(list.items.filter(({ id }) => selected.has(id))));
  const move = (step: number) =>
    setAt((now) => Math.max(0, Math.min(list.items.length - 1, now + step)));
  const current = list.items[at];

  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has another selection
  useEffect(() => {
    clear();
    setAt(-1);
  }, [search]);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => current && toggle(current.id),
    n: () => void list.showNew(),
    enter: () => current && navigate(`/runs/${current.id}`),
    escape: clear,
  });

  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex flex-none flex-wrap items-center gap-2 border-line border-b px-5 py-[14px]">
        <h1 className="mr-4 type-h1">Runs</h1>
        <Segments
          label="Which runs"
          value={filter.view}
          options={RUN_VIEWS.map((value) => ({ value, label: VIEW_NAMES[value] }))}
          onChange={(view) => go({ view })}
        />
        <FlowMenu flow={filter.flow} onChange={(flow) => go({ flow })} />
        <Menu
          label="Cause"
          trigger={
            <Button icon={Zap}>{filter.cause ? causeName(filter.cause) : "Any cause"}</Button>
          }
          items={[
            {
              label: "Any cause",
              checked: !filter.cause,
              onSelect: () => go({ cause: undefined }),
            },
            ...CAUSES.map((cause) => ({
              label: causeName(cause),
              checked: cause === filter.cause,
              onSelect: () => go({ cause }),
            })),
          ]}
        />
        <Menu
          label="Time"
          trigger={
            <Button icon={Clock}>{filter.period ? PERIOD_NAMES[filter.period] : "Any time"}</Button>
          }
          items={[
            {
              label: "Any time",
              checked: !filter.period,
              onSelect: () => go({ period: undefined }),
            },
            ...(Object.keys(PERIOD_NAMES) as RunPeriod[]).map((period) => ({
              label: PERIOD_NAMES[period],
              checked: period === filter.period,
              onSelect: () => go({ period }),
            })),
          ]}
        />
      </header>
      <section aria-label="Runs" className="relative flex min-h-0 flex-1 flex-col">
        <RunList
          list={list}
          selected={selected}
          current={current?.id}
          onToggle={toggle}
          isNarrowed={search !== ""}
        />
      </section>
      {selected.size > 0 && (
        <div
          role="toolbar"
          aria-label="Selected runs"
          className="flex flex-none items-center gap-2 border-line border-t bg-plate px-5 py-2"
        >
          <b className="mr-2 font-semibold" role="status">
            {plural(selected.size, "run")} selected
          </b>
          <Button
            size="small"
            icon={RotateCw}
            disabled={isBusy}
            title="Continues these runs at the steps that failed"
            onClick={() => act("retry")}
          >
            Retry
          </Button>
          <Button
            size="small"
            icon={RotateCcw}
            disabled={isBusy}
            title="Starts new runs with the same inputs"
            onClick={replay}
          >
            Replay
          </Button>
          <Button size="small" icon={Ban} disabled={isBusy} onClick={() => act("cancel")}>
            Cancel
          </Button>
          <span className="flex-1" />
          {selected.size < list.items.length && (
            <Button
              size="small"
              look="ghost"
              onClick={() => setSelected(new Set(list.items.map(({ id }) => id)))}
            >
              Select all {list.items.length}
            </Button>
          )}
          <IconButton size="small" icon={X} label="Clear the selection" onClick={clear} />
        </div>
      )}
    </div>
  );
}

function RunList({
  list,
  selected,
  current,
  onToggle,
  isNarrowed,
}: {
  list: ReturnType<typeof useRuns>;
  selected: ReadonlySet<string>;
  current: string | undefined;
  onToggle: (id: string) => void;
  isNarrowed: boolean;
}) {
  const { items: runs, added, showNew, isPending, error, refetch, hasNextPage } = list;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => runs[index]?.id ?? index,
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

const Empty = ({ isNarrowed }: { isNarrowed: boolean }) =>
  isNarrowed ? (
    <EmptyState
      title="No run matches these filters"
      actions={<ButtonLink to="/runs">Show all runs</ButtonLink>}
    />
  ) : (
    <EmptyState
      title="Nothing has run yet"
      command="npx signalbox send github issues --action opened"
      actions={<ButtonLink to="/flows">Go to the flows</ButtonLink>}
    >
      A published flow runs when an event matches its trigger, at the times of its schedule, or when
      an agent calls its tool.
    </EmptyState>
  );

function FlowMenu({
  flow,
  onChange,
}: {
  flow: string | undefined;
  onChange: (flow?: string) => void;
}) {
  const { data } = useQuery({
    queryKey: ["flows", "palette"],
    queryFn: () => api.get<Page<FlowSummary>>("/api/flows", { limit: 100 }),
  });
  const name = data?.items.find(({ id }) => id === flow)?.name;
  return (
    <Menu
      label="Flow"
      trigger={
        <Button icon={Workflow} className="max-w-[220px]">
          <span className="truncate">{name ?? (flow ? "One flow" : "Any flow")}</span>
        </Button>
      }
      items={[
        { label: "Any flow", checked: !flow, onSelect: () => onChange(undefined) },
        ...(data?.items ?? []).map(({ id, name, app }) => ({
          label: name,
          note: app,
          checked: id === flow,
          onSelect: () => onChange(id),
        })),
      ]}
    />
  );
}
