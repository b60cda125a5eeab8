/** A run: its flow with the state of each node, its steps over time, and the details of the chosen step. */
import { lazy, Suspense, useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { isStatus } from "../api/problem.ts";
import { useIsAdmin } from "../app/session.ts";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { plural } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { nodeStatesOf } from "./node-states.ts";
import { prepareEditor } from "./open-in-editor.ts";
import { WaitNote } from "./queue-strip.tsx";
import { ReplayDialog } from "./replay-dialog.tsx";
import { changeRun } from "./run-actions.ts";
import { findStep, isEnded, type RunData } from "./run-data.ts";
import { RunDetail } from "./run-detail.tsx";
import { RunHeader } from "./run-header.tsx";
import { StepDetail } from "./step-detail.tsx";
import { isPart } from "./step-names.ts";
import type { LoadedRun } from "./use-run-data.ts";
import { useFlow, useRunGraph } from "./use-run-graph.ts";
import { failedStepOf, newestStepOf } from "./waterfall.ts";
import { Waterfall } from "./waterfall-view.tsx";

const RunCanvas = lazy(() => import("./run-canvas.tsx"));

export function RunView({ loaded, data }: { loaded: LoadedRun; data: RunData }) {
  const { run, steps } = data;
  const [, navigate] = useLocation();
  // Members see the steps of a run, but not its flow.
  const isAdmin = useIsAdmin();
  const graph = useRunGraph(run, isAdmin);
  const flow = useFlow(run.flow_id, isAdmin);
  const isFlowDeleted = isStatus(flow.error, 404);
  const name = flow.data?.name ?? (isFlowDeleted ? "a deleted flow" : "a flow");
  usePageTitle(`Run of ${name}`);
  const nodes = useMemo(
    () => new Map((graph.data?.nodes ?? []).map((node) => [node.id, node])),
    [graph.data],
  );
  const states = useMemo(() => nodeStatesOf(steps, !isEnded(run)), [steps, run]);
  const [chosen, choose] = useChosen(data);
  const [tab, setTab] = useState<string>();
  const [isReplaying, setReplaying] = useState(false);
  const [busy, setBusy] = useState<"cancel" | "retry" | "edit">();
  const step = steps[findStep(steps, chosen)];
  const trigger = nodes.get(run.trigger_node)?.name ?? run.trigger_node;

  const showBusy = async (action: NonNullable<typeof busy>, work: () => Promise<void>) => {
    setBusy(action);
    await work().catch(toastError);
    setBusy(undefined);
  };
  const change = (action: "cancel" | "retry") =>
    void showBusy(action, async () => {
      const changed = await changeRun(run.id, action);
      loaded.apply(changed);
      if (action === "cancel" && !isEnded(changed))
        toasts.add({ aspect: "lunar", title: "The run is being cancelled" });
    });
  const edit = () =>
    void showBusy("edit", async () => {
      if (!graph.data) return;
      const state = await prepareEditor(run, graph.data, steps);
      navigate(`/flows/${run.flow_id}`, { state });
    });
  const move = (by: number) => {
    const wholeSteps = steps.filter((each) => !isPart(each));
    const index = step ? wholeSteps.findLastIndex(({ nth }) => nth <= chosen) : -1;
    choose(wholeSteps[Math.min(wholeSteps.length - 1, index + by)]?.nth ?? 0);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    escape: () => choose(0),
    r: () => isAdmin && !isFlowDeleted && setReplaying(true),
  });

  return (
    <>
      <RunHeader
        run={run}
        flow={name}
        isFlowDeleted={isFlowDeleted}
        isAdmin={isAdmin}
        busy={busy}
        onCancel={() => change("cancel")}
        onRetry={() => change("retry")}
        onReplay={() => setReplaying(true)}
        onEdit={graph.data && edit}
      />
      <WaitNote data={data} />
      <div className="flex min-h-0 flex-1 flex-col">
        {isAdmin && (
          <div className="relative h-[44%] min-h-[180px] flex-none border-line border-b">
            {graph.data ? (
              <Suspense fallback={<SkeletonRows rows={3} />}>
                <RunCanvas
                  graph={graph.data}
                  states={states}
                  chosen={step?.node_id}
                  onChoose={(node) => choose(newestStepOf(steps, node)?.nth ?? 0)}
                />
              </Suspense>
            ) : isStatus(graph.error, 404) ? (
              <EmptyState title="The flow of this run is not available">
                It was deleted, or this version is no longer stored. The steps of the run are still
                stored.
              </EmptyState>
            ) : graph.error ? (
              <ErrorState error={graph.error} onRetry={() => void graph.refetch()} />
            ) : (
              <SkeletonRows rows={3} />
            )}
          </div>
        )}
        <div className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)_480px] max-[1100px]:grid-cols-1 max-[1100px]:grid-rows-2">
          <div className="flex min-h-0 min-w-0 flex-col pt-2">
            <Waterfall run={run} steps={steps} nodes={nodes} chosen={chosen} onChoose={choose}>
              <RemainingSteps data={data} remaining={loaded.remaining} />
            </Waterfall>
          </div>
          <aside
            aria-label={step ? "Step" : "Run"}
            className="flex min-h-0 min-w-0 flex-col border-line border-l bg-plate px-4 pt-3 max-[1100px]:border-t max-[1100px]:border-l-0"
          >
            {step ? (
              <StepDetail
                run={run.id}
                event={step.node_id === run.trigger_node ? (run.event_id ?? undefined) : undefined}
                step={step}
                steps={steps}
                node={nodes.get(step.node_id)}
                tab={tab}
                onTab={setTab}
                onChoose={choose}
              />
            ) : (
              <RunDetail run={run} trigger={trigger} tab={tab} onTab={setTab} />
            )}
          </aside>
        </div>
      </div>
      {isReplaying && (
        <ReplayDialog
          run={run}
          trigger={trigger}
          onStarted={(id) => navigate(`/runs/${id}`)}
          onClose={() => setReplaying(false)}
        />
      )}
    </>
  );
}

/** The URL contains the number of the chosen step. Without it, the step that failed is chosen. */
function useChosen({ run, steps }: RunData): [number, (nth: number) => void] {
  const search = useSearch();
  const [location, navigate] = useLocation();
  const stepParam = new URLSearchParams(search).get("step");
  const failedStep = useMemo(() => failedStepOf(run, steps), [run, steps]);
  const choose = (nth: number) => navigate(`${location}?step=${nth}`, { replace: true });
  return [stepParam === null ? (failedStep ?? 0) : Number(stepParam), choose];
}

/** Why there are no steps, or a button that loads more. */
function RemainingSteps({
  data: { run, steps, next },
  remaining,
}: {
  data: RunData;
  remaining: LoadedRun["remaining"];
}) {
  if (steps.length === 0)
    return <p className="px-5 py-3 type-meta text-ink-2">{NO_STEPS[run.status]}</p>;
  if (next === null) return null;
  if (remaining.error) return <ErrorState error={remaining.error} onRetry={remaining.load} />;
  return (
    <div className="flex items-center gap-3 px-5 py-2 type-meta text-ink-2" role="status">
      {plural(steps.length, "step")} loaded
      {remaining.isPaused ? (
        <Button size="small" onClick={remaining.load}>
          Load more steps
        </Button>
      ) : (
        ", loading more"
      )}
    </div>
  );
}

const NO_STEPS: Record<RunData["run"]["status"], string> = {
  queued: "No step has started yet. The run starts as soon as the hub has a free slot.",
  held: "No step has started yet. The run waits until other runs of its trigger end.",
  running: "No step has started yet.",
  waiting: "No step has started yet.",
  succeeded: "The run has no steps.",
  failed: "The run failed before its first step.",
  cancelled: "The run was cancelled before its first step.",
};
