/** The plate below a trigger: the name of its tool, or what starts it. */
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

const trimmed = (value: unknown): string => textOf(value).trim();

export const PLATE_ICONS = { tool: Wrench, event: Radio, schedule: CalendarClock } as const;

/** `nameOf` gives the name of a source, which is an id if it is an endpoint or a connection. */
export function plateOf(
  node: FlowNode,
  nameOf: (source: string) => string = (source) => source,
): PlateText | undefined {
  const definition = definitionOf(node);
  if (definition?.kind !== "trigger") return undefined;
  if (definition.isTool) return { kind: "tool", text: toolNameOf(node) ?? toolName(node.name) };
  const { source, type, cron } = node.parameters;
  if (trimmed(cron)) return { kind: "schedule", text: trimmed(cron) };
  const text = [nameOf(trimmed(source)), trimmed(type)].filter(Boolean).join(" · ");
  return text ? { kind: "event", text } : undefined;
}
