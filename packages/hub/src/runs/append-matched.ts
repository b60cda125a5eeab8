import type { TrippedTrigger } from "../store/run-store.ts";
import type { AppendRequest, AppendResult, StalePlan } from "../store/store.ts";
import type { Matcher } from "./matcher.ts";

export type Append = (arrived: AppendRequest) => Promise<AppendResult>;

/** Stores events with what they cause. Triggers that change meanwhile are matched again. */
export const createMatchedAppend = (
  matcher: Matcher,
  append: (arrived: AppendRequest) => Promise<AppendResult | StalePlan>,
  onTripped: (tenant: string, tripped: TrippedTrigger) => void = () => {},
): Append => {
  const appendMatched: Append = async (arrived) => {
    const planned = matcher.plan(arrived);
    // Awaiting what is there already would put every event off a turn.
    const plan = planned instanceof Promise ? await planned : planned;
    const appended = await append({ ...arrived, plan });
    if (appended.outcome === "stored")
      for (const one of appended.tripped ?? []) onTripped(arrived.tenant, one);
    if (appended.outcome !== "stale") return appended;
    matcher.forget(arrived.tenant);
    return appendMatched(arrived);
  };
  return appendMatched;
};
