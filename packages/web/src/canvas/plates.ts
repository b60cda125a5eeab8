/** The plate below a trigger: the name of its tool, the source and type of its events, or its schedule. */
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import { CalendarClock, Radio, Wrench } from "lucide-react";
import { textOf } from "../triggers/text-of.ts";
import type { FlowNode } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";

export interface PlateText {
  kind: "tool" | "event" | "schedule";
  text: string;
}

const toTrimmed = (value: unknown): string => textOf(value).trim();

export const PLATE_ICONS = { tool: Wrench, event: Radio, schedule: CalendarClock } as const;

/** `nameOf` returns the display name of a source: endpoints and connections are identified by ids. */
export function plateOf(
  node: FlowNode,
  nameOf: (source: string) => string = (source) => source,
): PlateText | undefined {
  const definition = definitionOf(node);
  if (definition?.kind !== "trigger") return undefined;
  if (definition.isTool) return { kind: "tool", text: toolNameOf(node) ?? toolName(node.name) };
  const { source, type, cron } = node.parameters;
  if (toTrimmed(cron)) return { kind: "schedule", text: toTrimmed(cron) };
  const text = [nameOf(toTrimmed(source)), toTrimmed(type)].filter(Boolean).join(" · ");
  return text ? { kind: "event", text } : undefined;
}
