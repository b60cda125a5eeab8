/** A run of the draft below the desk: its steps over time, and what the chosen step did. */
import type { Json } from "@signalbox/rules/json.ts";
import { FlaskConical, Pin, PinOff, RotateCw, Square, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { cx } from "../ui/cx.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { Tabs } from "../ui/tabs.tsx";
import type { FlowNode, Graph } from "./graph.ts";
import { iconOf } from "./node-icon.tsx";
import { definitionOf } from "./node-kinds.ts";
import { barsOf, inWords, lookOfRun, type Step } from "./run-states.ts";
import { type DraftRun, isEnded } from "./use-run.ts";

export function RunDock({
  draftRun,
  graph,
  chosen,
  onChoose,
}: {
  draftRun: DraftRun;
  graph: Graph;
  chosen: string | undefined;
  onChoose: (node: string) => void;
}) {
  const { run, request } = draftRun;
  if (!run) return null;
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const { aspect, label } = lookOfRun(run.status);
  const bars = barsOf(run);
  const steps = run.steps.filter(({ node_id }) => node_id === chosen);
  return (
    <section
      aria-label="Run of the draft"
      className="grid h-[262px] flex-none grid-cols-[minmax(0,1fr)_470px] border-line border-t bg-page max-[1100px]:grid-cols-1"
    >
      <div className="min-w-0 overflow-y-auto px-5 pt-[10px] pb-3">
        <div className="mb-2 flex items-center gap-3">
          <SignalHead aspect={aspect} label={label} />
          <b className="truncate type-strong">
            Run started by “{nodes.get(run.trigger_node)?.name ?? run.trigger_node}”
          </b>
          <Chip tone={aspect === "none" ? undefined : aspect} words>
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
          <p role="alert" className="wrap-anywhere mb-2 type-meta text-red">
            {run.error.message}
          </p>
        )}
        <div className="waterfall">
          {bars.map(({ step, left, width, ms }) => (
            <Bar
              key={step.nth}
              step={step}
              node={nodes.get(step.node_id)}
              left={left}
              width={width}
              ms={ms}
              onChoose={onChoose}
            />
          ))}
        </div>
      </div>
      <StepDetail
        key={chosen}
        draftRun={draftRun}
        node={chosen === undefined ? undefined : nodes.get(chosen)}
        steps={steps}
      />
    </section>
  );
}

function Bar({
  step,
  node,
  left,
  width,
  ms,
  onChoose,
}: {
  step: Step;
  node: FlowNode | undefined;
  left: number;
  width: number;
  ms: number;
  onChoose: (node: string) => void;
}) {
  const Icon = iconOf(node?.type ?? "");
  const words = step.error?.message ?? (step.status === "skipped" ? "skipped" : (step.port ?? ""));
  return (
    <>
      <button type="button" onClick={() => onChoose(step.node_id)} className="text-left">
        <Icon className="icon text-ink-2" aria-hidden />
        <span className="truncate font-[560] text-ink">{node?.name ?? step.node_id}</span>
        {step.attempt > 1 && <span className="text-ink-3">try {step.attempt}</span>}
      </button>
      <div className="bar">
        {step.status !== "skipped" && (
          <i className={step.status} style={{ left: `${left}%`, width: `${width}%` }} />
        )}
        <span
          className={cx("truncate", step.error && "text-red")}
          style={{ left: `min(70%, calc(${left + width}% + 8px))` }}
        >
          {words}
        </span>
      </div>
      <div className="justify-end type-code-s text-ink-2">{inWords(ms)}</div>
    </>
  );
}

function StepDetail({
  draftRun,
  node,
  steps,
}: {
  draftRun: DraftRun;
  node: FlowNode | undefined;
  steps: readonly Step[];
}) {
  const last = steps.at(-1);
  const [tab, setTab] = useState(last?.error ? "error" : "output");
  if (!node)
    return (
      <div className="border-line border-l bg-plate p-4 text-ink-3">
        Choose a step to see its input, output and log.
      </div>
    );
  const Icon = iconOf(node.type);
  const isTrigger = definitionOf(node)?.kind === "trigger";
  const isPinned = node.id in draftRun.pins;
  const tries = steps.filter(({ item }) => !item.includes("#")).length;
  return (
    <div className="flex min-w-0 flex-col overflow-hidden border-line border-l bg-plate px-4 pt-[10px]">
      <div className="flex items-center gap-2">
        <Icon className="icon" aria-hidden />
        <b className="truncate type-strong">{node.name}</b>
        {tries > 1 && <Chip words>{tries} steps</Chip>}
        <span className="flex-1" />
        <IconButton
          size="small"
          icon={isPinned ? PinOff : Pin}
          label={isPinned ? "Unpin its output" : "Pin this output for the next runs"}
          disabled={!isPinned && (last?.status !== "done" || isTrigger)}
          onClick={() =>
            isPinned
              ? draftRun.unpin(node.id)
              : last &&
                draftRun.pin(node.id, {
                  output: last.output,
                  ...(last.port && { port: last.port }),
                })
          }
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
      </div>
      <Tabs
        pills
        label="What the step did"
        value={tab}
        onChange={setTab}
        tabs={[
          { value: "input", label: "Input", content: <Value label="Input" value={last?.input} /> },
          {
            value: "output",
            label: "Output",
            content: <Value label="Output" value={last?.output} />,
          },
          ...(last?.error
            ? [
                {
                  value: "error",
                  label: "Error",
                  content: <Value label="Error" value={last.error as unknown as Json} />,
                },
              ]
            : []),
          {
            value: "log",
            label: "Log",
            count: last?.log.length,
            content: (
              <pre className="wrap-anywhere whitespace-pre-wrap type-code">
                {last?.log.map(({ text }) => text).join("\n")}
              </pre>
            ),
          },
        ]}
      />
    </div>
  );
}

const Value = ({ value, label }: { value: Json | undefined; label: string }) =>
  value === undefined ? (
    <p className="py-2 text-ink-3">This step has not run.</p>
  ) : (
    <JsonTree value={value} label={label} />
  );
