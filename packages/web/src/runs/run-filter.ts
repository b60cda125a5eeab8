/** The filter of the list of runs. The URL of the page contains it. */

import type { RunItem } from "@signalbox/contract";
import type { QueryAt } from "../api/client.ts";
import { isDraft } from "./replay.ts";

export const RUN_VIEWS = ["all", "active", "succeeded", "failed", "cancelled"] as const;
export type RunFilterView = (typeof RUN_VIEWS)[number];
export const CAUSES = ["tool", "event", "schedule", "api", "flow", "replay"] as const;
const PERIODS = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 } as const;
export type RunPeriod = keyof typeof PERIODS;

export interface RunFilter {
  view: RunFilterView;
  flow?: string | undefined;
  cause?: RunItem["cause"] | undefined;
  period?: RunPeriod | undefined;
}

export function readRunFilter(search: string): RunFilter {
  const params = new URLSearchParams(search);
  const text = (name: string) => params.get(name) || undefined;
  const view = RUN_VIEWS.find((each) => each === params.get("view"));
  const period = text("period");
  return {
    view: view ?? "all",
    flow: text("flow"),
    cause: CAUSES.find((each) => each === text("cause")),
    period: period && Object.hasOwn(PERIODS, period) ? (period as RunPeriod) : undefined,
  };
}

export function writeRunFilter({ view, ...rest }: RunFilter): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries({ view: view === "all" ? undefined : view, ...rest }))
    if (value) params.set(name, value);
  const search = params.toString();
  return search ? `?${search}` : "";
}

export const toRunQuery = (
  { view, flow, cause, period }: RunFilter,
  now: number,
): QueryAt<"/api/runs"> => ({
  flow,
  cause,
  since: period && new Date(now - PERIODS[period]).toISOString(),
  status: view === "all" ? undefined : view,
});

const CAUSE_NAMES: Record<string, string> = {
  tool: "called by an agent",
  event: "started by an event",
  schedule: "started by a schedule",
  api: "started through the API",
  flow: "called by another flow",
  replay: "replayed",
};
export const causeName = (cause: string): string => CAUSE_NAMES[cause] ?? cause;

/** Returns the cause and the trigger, such as `called by an agent: greet_a_person`. */
export function describeCause(
  run: Pick<RunItem, "cause" | "version"> & Partial<Pick<RunItem, "trigger_name">>,
): string {
  if (isDraft(run)) return "test of the draft";
  return run.trigger_name ? `${causeName(run.cause)}: ${run.trigger_name}` : causeName(run.cause);
}
