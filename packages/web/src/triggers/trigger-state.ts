/** Texts for the card of a trigger: the state of the published trigger, and the changes in the draft. */

import type { TriggerState } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { isEqual } from "../canvas/equal.ts";
import type { Signal } from "../ui/signal-head.tsx";
import { textOf } from "./text-of.ts";

export function signalOfTrigger(published: TriggerState | undefined): Signal {
  if (!published) return { aspect: "none", label: "not published" };
  if (!published.active || published.state === "paused") return { aspect: "none", label: "paused" };
  if (published.state === "failed") return { aspect: "red", label: "failed" };
  if (published.error !== null) return { aspect: "amber", label: "not confirmed" };
  if (published.state === "configuring")
    return { aspect: "lunar", label: "being configured at the server" };
  return { aspect: "green", label: "active" };
}

/** Describes what publishing the draft would change; undefined if it would change nothing. */
export function describePendingChange(
  parameters: JsonObject,
  published: TriggerState | undefined,
  /** Undefined until the published version is loaded. */
  publishedParameters?: JsonObject,
): string | undefined {
  if (!published) return "The trigger starts no runs until you publish the flow.";
  const isActive = parameters.isActive !== false;
  if (published.active && !isActive) return "Paused in the draft: publish the flow to pause it.";
  if (!published.active && isActive) return "Active in the draft: publish the flow to resume it.";
  const selectsOtherEvents = (["source", "type"] as const).some(
    (field) =>
      published.kind === "event" && textOf(parameters[field]).trim() !== (published[field] ?? ""),
  );
  if (selectsOtherEvents)
    return "The draft listens to other events: publish the flow to change the trigger.";
  return publishedParameters && !isEqual(settingsOf(parameters), settingsOf(publishedParameters))
    ? "Edited in the draft: publish the flow to change the trigger."
    : undefined;
}

const settingsOf = ({ isActive: _, ...settings }: JsonObject): JsonObject => settings;
