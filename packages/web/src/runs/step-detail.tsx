/** The details of one step: its output, input, error, attempts and log. */
import type { ReactNode } from "react";
import type { FlowNode } from "../canvas/graph.ts";
import { iconOf } from "../canvas/node-icon.tsx";
import { durationOf, type Step, signalOfStep } from "../canvas/run-states.ts";
import { Chip } from "../ui/chip.tsx";
import { clockMs, duration } from "../ui/format.ts";
import { type Tab, Tabs } from "../ui/tabs.tsx";
import { AttemptsView } from "./attempts-view.tsx";
import { ConversationView } from "./conversation-view.tsx";
import { ErrorView } from "./error-view.tsx";
import { EventInput } from "./event-input.tsx";
import { LogView } from "./log-view.tsx";
import { isPart, iterationText, ordinal, partText } from "./step-names.ts";
import { ValueView } from "./value-view.tsx";
import { attemptsOf, partsOf, retryAt } from "./waterfall.ts";

export function StepDetail({
  run,
  event,
  step,
  steps,
  node,
  tab,
  onTab,
  onChoose,
  actions,
}: {
  run: string;
  /** The id of the event that is the output of the trigger; undefined for other steps. */
  event: string | undefined;
  step: Step;
  steps: readonly Step[];
  node: FlowNode | undefined;
  tab: string | undefined;
  onTab: (tab: string) => void;
  onChoose: (nth: number) => void;
  /** Buttons for the step. */
  actions?: ReactNode;
}) {
  const attempts = attemptsOf(steps, step);
  const parts = partsOf(steps, step);
  const isStepPart = isPart(step);
  const Icon = iconOf(node?.type ?? "");
  const { aspect, label } = signalOfStep(step.status);
  const took = durationOf(step);
  const facts = [
    // A planned or running retry has no record yet.
    (attempts.length > 1 || retryAt(step) !== undefined) && `${ordinal(step.attempt)} attempt`,
    iterationText(step),
    clockMs(step.started_at),
    took !== undefined && step.status !== "skipped" && duration(took),
  ];
  const tabs: Tab[] = [
    ...(parts.length > 0 && !isStepPart
      ? [
          {
            value: "conversation",
            label: "Conversation",
            content: <ConversationView run={run} parts={parts} />,
          },
        ]
      : []),
    ...(step.error
      ? [{ value: "error", label: "Error", content: <ErrorView error={step.error} /> }]
      : []),
    {
      value: "output",
      label: "Output",
      content:
        event !== undefined ? (
          <EventInput id={event} />
        ) : (
          <StepValue run={run} step={step} field="output" />
        ),
    },
    { value: "input", label: "Input", content: <StepValue run={run} step={step} field="input" /> },
    ...(attempts.length > 1
      ? [
          {
            value: "attempts",
            label: "Attempts",
            count: attempts.length,
            content: <AttemptsView attempts={attempts} chosen={step.nth} onChoose={onChoose} />,
          },
        ]
      : []),
    {
      value: "log",
      label: "Log",
      count: step.log.length || undefined,
      content: <LogView log={step.log} />,
    },
  ];
  const name = node?.name ?? step.node_id;
  return (
    <>
      <div className="flex flex-none items-center gap-2">
        <Icon className="icon" aria-hidden />
        <h2 className="min-w-0 truncate type-strong" title={name}>
          {name}
          {isStepPart && <span className="font-[450] text-ink-3"> {partText(step)}</span>}
        </h2>
        <Chip tone={aspect} words>
          {label}
        </Chip>
        {actions && <div className="ml-auto flex flex-none items-center gap-1">{actions}</div>}
      </div>
      <p className="mt-[2px] mb-2 flex-none truncate type-meta text-ink-3">
        {facts.filter(Boolean).join(" · ")}
      </p>
      <Tabs
        pills
        label="Details of the step"
        value={tabs.find(({ value }) => value === tab)?.value ?? tabs[0]?.value ?? ""}
        onChange={onTab}
        tabs={tabs}
      />
    </>
  );
}

function StepValue({ run, step, field }: { run: string; step: Step; field: "input" | "output" }) {
  if (step.status === "skipped")
    return (
      <p className="py-3 text-ink-3">The run took another branch, so this step was skipped.</p>
    );
  if (field === "output" && step.status !== "done")
    return (
      <p className="py-3 text-ink-3">
        {step.finished_at === null
          ? "There is no output yet: the step has not ended."
          : "There is no output: the step failed."}
      </p>
    );
  if (step.status === "running" && step.input === null)
    return <p className="py-3 text-ink-3">The input is recorded when the step ends.</p>;
  return (
    <ValueView
      value={step[field]}
      valueKey={{ run, nth: step.nth, field }}
      label={field === "input" ? "Input" : "Output"}
    />
  );
}
