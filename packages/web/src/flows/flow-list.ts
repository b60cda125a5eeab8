/** Selects and groups the flows of the list, and describes their state for the cards. */
import type { App, FlowItem } from "@signalbox/contract";
import { signalOfRun } from "../runs/signal-of-run.ts";
import type { Aspect } from "../ui/signal-head.tsx";

export type FlowView = "all" | "published" | "drafts" | "attention";

/** The tooltip of a flow without triggers: the same message as in validate.ts of the rules. */
export const NO_TRIGGERS = "This flow has no trigger nodes and cannot be executed via MCP.";

export interface Attention {
  label: string;
  tooltip: string;
}

/** Returns why a flow needs attention; undefined if it does not. */
export function attentionOf({
  has_triggers,
  warnings,
  errors,
}: Pick<FlowItem, "has_triggers" | "warnings" | "errors">): Attention | undefined {
  if (!has_triggers) return { label: "No triggers", tooltip: NO_TRIGGERS };
  const inactive = warnings.find(({ code }) => code === "no_active_triggers");
  if (inactive) return { label: "No active triggers", tooltip: inactive.message };
  const [first] = errors;
  if (first)
    return {
      label: errors.length === 1 ? "1 error" : `${errors.length} errors`,
      tooltip: `${first.message} Publishing is not possible until it is fixed.`,
    };
  const [warning] = warnings;
  if (warning)
    return {
      label: warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`,
      tooltip: warnings.map(({ message }) => message).join("\n"),
    };
  return undefined;
}

export type DraftState = { text: string; tone?: "amber" };

/** Compares the draft with the published version. */
export function draftStateOf({ version, draft }: Pick<FlowItem, "version" | "draft">): DraftState {
  if (version === null) return { text: "never published" };
  return draft === "changed"
    ? { text: `draft differs from v${version}`, tone: "amber" }
    : { text: `published v${version}` };
}

const containsText = (flow: FlowItem, text: string) =>
  [flow.name, flow.description, ...flow.exposed_tools.map(({ name }) => name)].some((searched) =>
    searched.toLowerCase().includes(text),
  );

export function selectFlows(flows: readonly FlowItem[], view: FlowView, text: string): FlowItem[] {
  const query = text.trim().toLowerCase();
  return flows.filter((flow) => {
    if (query !== "" && !containsText(flow, query)) return false;
    if (view === "published") return flow.version !== null;
    if (view === "drafts") return flow.draft !== "published";
    if (view === "attention")
      return attentionOf(flow) !== undefined || flow.last_run?.status === "failed";
    return true;
  });
}

/** Sorts apps and flows by name. The name of an app that is not loaded is its slug. */
export function groupByApp(
  flows: readonly FlowItem[],
  apps: readonly Pick<App, "slug" | "name">[],
): { app: Pick<App, "slug" | "name">; flows: FlowItem[] }[] {
  const groups = Map.groupBy(flows, ({ app }) => app);
  return [...groups]
    .map(([slug, flows]) => ({
      app: apps.find((app) => app.slug === slug) ?? { slug, name: slug },
      flows: flows.toSorted((a, b) => a.name.localeCompare(b.name)),
    }))
    .toSorted((a, b) => a.app.name.localeCompare(b.app.name));
}

/** Returns what the signal head of a flow shows: a subscription that does not work, or else the last run. */
export function signalOfFlow({ last_run, warnings }: Pick<FlowItem, "last_run" | "warnings">): {
  aspect: Aspect;
  label: string;
} {
  const has = (searched: string) => warnings.some(({ code }) => code === searched);
  if (has("subscription_failed")) return { aspect: "red", label: "a subscription has failed" };
  if (has("subscription_unconfirmed"))
    return { aspect: "amber", label: "a subscription is not confirmed" };
  if (!last_run) return { aspect: "none", label: "has never run" };
  const { aspect, label } = signalOfRun(last_run.status);
  return { aspect, label: `last run: ${label}` };
}
