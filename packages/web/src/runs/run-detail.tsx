/** The details of a run: why it started, its input, its output and its error. */
import { TrainTrack } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Chip } from "../ui/chip.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { clockMs, day, duration } from "../ui/format.ts";
import { type Tab, Tabs } from "../ui/tabs.tsx";
import { ErrorView } from "./error-view.tsx";
import { EventInput } from "./event-input.tsx";
import { isDraft } from "./replay.ts";
import { runDuration } from "./run-chip.tsx";
import { isEnded, type RunFields } from "./run-data.ts";
import { describeCause } from "./run-filter.ts";
import { signalOfRun } from "./signal-of-run.ts";
import { ValueView } from "./value-view.tsx";

export function RunDetail({
  run,
  trigger,
  tab,
  onTab,
}: {
  run: RunFields;
  /** The name of the trigger. */
  trigger: string;
  tab: string | undefined;
  onTab: (tab: string) => void;
}) {
  const { aspect, label } = signalOfRun(run.status);
  const tabs: Tab[] = [
    { value: "about", label: "About", content: <Facts run={run} trigger={trigger} /> },
    ...(run.error
      ? [{ value: "error", label: "Error", content: <ErrorView error={run.error} /> }]
      : []),
    {
      value: "input",
      label: "Input",
      content: run.event_id ? (
        <EventInput id={run.event_id} />
      ) : (
        <ValueView
          value={run.input}
          valueKey={{ run: run.id, nth: 0, field: "input" }}
          label="Input"
        />
      ),
    },
    {
      value: "output",
      label: "Output",
      content:
        run.status === "succeeded" ? (
          <ValueView
            value={run.output}
            valueKey={{ run: run.id, nth: 0, field: "output" }}
            label="Output"
          />
        ) : (
          <p className="py-3 text-ink-3">
            {isEnded(run) ? "The run has no output." : "There is no output yet."}
          </p>
        ),
    },
  ];
  return (
    <>
      <div className="mb-2 flex flex-none items-center gap-2">
        <TrainTrack className="icon" aria-hidden />
        <h2 className="type-strong">Run</h2>
        <Chip tone={aspect} words>
          {label}
        </Chip>
      </div>
      <Tabs
        pills
        label="Details of the run"
        value={tabs.find(({ value }) => value === tab)?.value ?? "about"}
        onChange={onTab}
        tabs={tabs}
      />
    </>
  );
}

function Facts({ run, trigger }: { run: RunFields; trigger: string }) {
  const took = isEnded(run) ? runDuration(run) : undefined;
  const queued = run.started_at && Date.parse(run.started_at) - Date.parse(run.created_at);
  const facts: [string, ReactNode][] = [
    ["Trigger", trigger],
    ["Cause", describeCause(run)],
    ...(run.event_id
      ? [
          [
            "Event",
            <Link
              key="event"
              href={`/inbox/${run.event_id}?view=all`}
              className="text-blue underline"
            >
              {run.event_id}
            </Link>,
          ] as [string, ReactNode],
        ]
      : []),
    ...(run.parent_run
      ? [
          [
            "Called by",
            <Link key="parent" href={`/runs/${run.parent_run}`} className="text-blue underline">
              run {run.parent_run}
            </Link>,
          ] as [string, ReactNode],
        ]
      : []),
    ["Version", isDraft(run) ? "the draft at that time" : `v${run.version}`],
    ["Created", `${day(run.created_at)}, ${clockMs(run.created_at)}`],
    ["Queued for", typeof queued === "number" ? duration(queued) : "not started"],
    ...(took === undefined ? [] : [["Took", duration(took)] as [string, ReactNode]]),
    [
      "Id",
      <span key="id" className="flex items-center gap-1">
        <code className="truncate">{run.id}</code>
        <CopyButton text={run.id} label="Copy the id of the run" />
      </span>,
    ],
  ];
  return (
    <dl className="grid grid-cols-[90px_minmax(0,1fr)] items-center gap-x-3 gap-y-2 pt-3 pb-4">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="type-meta text-ink-3">{name}</dt>
          <dd className="min-w-0 truncate">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
