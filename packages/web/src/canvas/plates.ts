/** The plate below a trigger: the name of its tool, or what starts it. */
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import type { FlowNode } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";

export interface PlateText {
  kind: "tool" | "event" | "schedule";
  text: string;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

/** `nameOf` gives the name of a source, which is an id if it is an endpoint or a connection. */
export function plateOf(
  node: FlowNode,
  nameOf: (source: string) => string = (source) => source,
): PlateText | undefined {
  const definition = definitionOf(node);
  if (definition?.kind !== "trigger") return undefined;
  if (definition.isTool) return { kind: "tool", text: toolNameOf(node) ?? toolName(node.name) };
  const { source, type, cron } = node.parameters;
  if (textOf(cron)) return { kind: "schedule", text: textOf(cron) };
  const text = [nameOf(textOf(source)), textOf(type)].filter(Boolean).join(" · ");
  return text ? { kind: "event", text } : undefined;
}
