/** Describes which runs wait, and for what. */

import type { Queue } from "@signalbox/contract";
import { isObject } from "@signalbox/rules/json.ts";
import { clock, count, countOrMore, dayMark, duration, plural } from "../ui/format.ts";
import type { RunData } from "./run-data.ts";

export type Wait = Queue["waits"][number];
type Waiting = Pick<Queue["flows"][number], "app" | "flow_id" | "flow_name">;

/** A step, as far as it tells when its run continues. */
type StepOutput = Pick<RunData["steps"][number], "status" | "output">;

/** The rows of the table: the flows with queued or held runs, and those whose runs wait. */
export interface WaitingFlow extends Waiting {
  queued: string;
  held: string;
  oldest: string;
  waits: Wait[];
}

export const flowNameOf = ({ flow_name }: Pick<Waiting, "flow_name">): string =>
  flow_name ?? "a deleted flow";

/** What the runs wait for, such as `a response of api.example.com`. */
export function describeTarget({ kind, target }: Pick<Wait, "kind" | "target">): string {
  if (kind === "run") return `a run of ${target}`;
  const host = URL.parse(target)?.host ?? target;
  return kind === "response"
    ? `a response of ${host}`
    : `its share of the open requests to ${host}`;
}

/** `12 runs of Fetch prices wait for a response of api.example.com` */
const describeWait = (wait: Wait): string =>
  `${plural(wait.runs, "run")} of ${flowNameOf(wait)} ${wait.runs === 1 ? "waits" : "wait"} for ${describeTarget(wait)}`;

const age = (since: string | null, now: number): string =>
  since === null ? "" : duration(Math.max(0, now - Date.parse(since)));

/** A line for all runs of the tenant that wait; empty if none does. */
export function summarizeQueue(queue: Queue, now: number): string[] {
  const { queued, queued_more, oldest_queued_since, held, held_more, waits, waits_more, slots } =
    queue;
  const [largest, ...others] = waits;
  const lines = [
    ...(queued > 0
      ? [`${countOrMore(queued, queued_more)} queued, oldest ${age(oldest_queued_since, now)}`]
      : []),
    ...(held > 0 ? [`${countOrMore(held, held_more)} held by a concurrency limit`] : []),
    ...(largest
      ? [
          describeWait(largest) +
            (others.length > 0 ? `, and ${countOrMore(others.length, waits_more)} more` : ""),
        ]
      : []),
  ];
  if (lines.length === 0 || !slots) return lines;
  return [...lines, `${slots.busy} of ${slots.total} slots busy`];
}

export function waitingFlows({ flows, waits }: Queue, now: number): WaitingFlow[] {
  const rows = new Map<string, WaitingFlow>();
  for (const { app, flow_id, flow_name, ...flow } of flows)
    rows.set(flow_id, {
      app,
      flow_id,
      flow_name,
      queued: countOrMore(flow.queued, flow.queued_more),
      held: countOrMore(flow.held, flow.held_more),
      oldest: age(flow.oldest_queued_since, now),
      waits: [],
    });
  for (const wait of waits) {
    const { app, flow_id, flow_name } = wait;
    const row = rows.get(flow_id) ?? {
      app,
      flow_id,
      flow_name,
      queued: "0",
      held: "0",
      oldest: "",
      waits: [],
    };
    rows.set(flow_id, { ...row, waits: [...row.waits, wait] });
  }
  return [...rows.values()];
}

interface WaitingRun {
  id: string;
  flow_id: string;
  status: string;
}

/** The time at which a suspended run continues: the end of a wait, or the next attempt at a step. */
function describeDue(steps: readonly StepOutput[], now: number) {
  const due = steps.flatMap(({ status, output }) => {
    if (!isObject(output)) return [];
    const time = status === "waiting" ? output.until : status === "failed" && output.retry_at;
    if (typeof time !== "number" || time < now) return [];
    return { time, text: status === "waiting" ? "Waits until" : "Waits for the next attempt at" };
  });
  const [next] = due.toSorted((a, b) => a.time - b.time);
  if (!next) return undefined;
  const iso = new Date(next.time).toISOString();
  return `${next.text} ${[dayMark(iso), clock(iso)].join(" ").trim()}.`;
}

/** What one run waits for, as far as the hub knows it. */
export function describeRunWait(
  run: WaitingRun,
  steps: readonly StepOutput[],
  queue: Queue,
  now: number,
): string | undefined {
  if (run.status === "waiting") return describeDue(steps, now);
  const flow = queue.flows.find(({ flow_id }) => flow_id === run.flow_id);
  if (run.status === "held") return "Waits for the concurrency limit of its trigger.";
  if (run.status === "queued" && flow && flow.queued > 0)
    return `Waits for a worker: ${countOrMore(flow.queued, flow.queued_more)} of this flow ${flow.queued === 1 ? "is" : "are"} queued, the oldest for ${age(flow.oldest_queued_since, now)}.`;
  if (run.status !== "running") return undefined;
  const ofFlow = queue.waits.filter(({ flow_id }) => flow_id === run.flow_id);
  const own = ofFlow.find(({ run_ids }) => run_ids.includes(run.id));
  if (own) {
    const waiting = `Waits for ${describeTarget(own)}`;
    // The time is that of the oldest run of the group.
    return own.runs === 1
      ? `${waiting} (for ${age(own.since, now)}).`
      : `${waiting}, like ${plural(own.runs - 1, "other run")} of this flow (the oldest for ${age(own.since, now)}).`;
  }
  // The hub reports the ids of only some runs of a large group.
  const unlisted = ofFlow.find(({ runs, run_ids }) => run_ids.length < runs);
  return (
    unlisted &&
    `${count(unlisted.runs)} runs of this flow wait for ${describeTarget(unlisted)}, possibly also this one.`
  );
}
