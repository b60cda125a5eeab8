/** Shows a run of the draft below the canvas: its steps over time, and the details of the chosen step. */

import type { RunWithSteps } from "@signalbox/contract";
import { FlaskConical, Pin, PinOff, RotateCw, Square, X } from "lucide-react";
import { useState } from "react";
import { loadPin } from "../runs/load-pin.ts";
import { isEnded } from "../runs/run-data.ts";
import { signalOfRun } from "../runs/signal-of-run.ts";
import { StepDetail } from "../runs/step-detail.tsx";
import { newestStepOf } from "../runs/waterfall.ts";
import { Waterfall } from "../runs/waterfall-view.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { toastError } from "../ui/toast.tsx";
import type { FlowNode, Graph } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";
import type { Step } from "./run-states.ts";
import type { DraftRun } from "./use-run.ts";

export function RunDock({
  draftRun,
  graph,
  chosen,
  onChoose,
}: {
  draftRun: DraftRun;
  graph: Graph;
  /** The id of the chosen node. */
  chosen: string | undefined;
  onChoose: (node: string) => void;
}) {
  const { run, request } = draftRun;
  /** The number of the chosen step. If the chosen node has no such step, its newest step is shown. */
  const [nth, setNth] = useState(0);
  if (!run) return null;
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const { aspect, label } = signalOfRun(run.status);
  const node = chosen === undefined ? undefined : nodes.get(chosen);
  const stepsOfNode = run.steps.filter(({ node_id }) => node_id === chosen);
  const step =
    stepsOfNode.find((each) => each.nth === nth) ?? newestStepOf(stepsOfNode, chosen ?? "");
  return (
    <section
      aria-label="Run of the draft"
      className="grid h-[262px] flex-none grid-cols-[minmax(0,1fr)_470px] border-line border-t bg-page max-[1100px]:grid-cols-1"
    >
      <div className="flex min-h-0 min-w-0 flex-col pt-[10px]">
        <div className="mb-2 flex flex-none items-center gap-3 px-5">
          <SignalHead aspect={aspect} label={label} />
          <b className="truncate type-strong">
            Run started by “{nodes.get(run.trigger_node)?.name ?? run.trigger_node}”
          </b>
          <Chip tone={aspect} words>
            {label}
          </Chip>
          <span className="truncate type-meta text-ink-3">draft</span>
          <span className="flex-1" />
          {!isEnded(run) && (
            <Button size="small" icon={Square} onClick={draftRun.cancel}>
              Cancel
            </Button>
          )}
          {request && (
            <Button
              size="small"
              icon={RotateCw}
              busy={draftRun.isStarting}
              onClick={() => void draftRun.start(request)}
            >
              Run again
            </Button>
          )}
          <IconButton size="small" icon={X} label="Close the run" onClick={draftRun.close} />
        </div>
        {run.error && (
          <p role="alert" className="wrap-anywhere mb-2 flex-none px-5 type-meta text-red">
            {run.error.message}
          </p>
        )}
        <Waterfall
          run={run}
          steps={run.steps}
          nodes={nodes}
          chosen={step?.nth}
          onChoose={(nth) => {
            setNth(nth);
            const next = run.steps.find((each) => each.nth === nth);
            if (next) onChoose(next.node_id);
          }}
        />
      </div>
      <div className="flex min-h-0 min-w-0 flex-col border-line border-l bg-plate px-4 pt-[10px]">
        {node && step ? (
          <ChosenStep
            key={node.id}
            draftRun={draftRun}
            run={run}
            node={node}
            step={step}
            onChoose={setNth}
          />
        ) : (
          <p className="text-ink-3">
            {node ? "This node has not run." : "Choose a step to see its input, output and log."}
          </p>
        )}
      </div>
    </section>
  );
}

function ChosenStep({
  draftRun,
  run,
  node,
  step,
  onChoose,
}: {
  draftRun: DraftRun;
  run: RunWithSteps;
  node: FlowNode;
  step: Step;
  onChoose: (nth: number) => void;
}) {
  const [tab, setTab] = useState<string>();
  const isTrigger = definitionOf(node)?.kind === "trigger";
  const isPinned = node.id in draftRun.pins;
  const pin = () => loadPin(run.id, step).then((pin) => draftRun.pin(node.id, pin), toastError);
  return (
    <StepDetail
      run={run.id}
      event={isTrigger ? (run.event_id ?? undefined) : undefined}
      step={step}
      steps={run.steps}
      node={node}
      tab={tab}
      onTab={setTab}
      onChoose={onChoose}
      actions={
        <>
          <IconButton
            size="small"
            icon={isPinned ? PinOff : Pin}
            label={isPinned ? "Unpin the output" : "Pin this output for the next runs"}
            disabled={!isPinned && (step.status !== "done" || isTrigger)}
            onClick={() => (isPinned ? draftRun.unpin(node.id) : void pin())}
          />
          <Button
            size="small"
            icon={FlaskConical}
            busy={draftRun.isStarting}
            disabled={isTrigger}
            onClick={() => void draftRun.test(node.id)}
          >
            Test this step
          </Button>
        </>
      }
    />
  );
}
