/** Summarizes the parameters of a node in one short line. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import type { FlowNode } from "./graph.ts";

const text = (value: Json | undefined): string =>
  value === undefined || value === null
    ? ""
    : typeof value === "string"
      ? value
      : JSON.stringify(value);

const list = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

const keysOf = (value: Json | undefined): string =>
  isObject(value) ? `{ ${Object.keys(value).join(", ")} }` : text(value);

/** Formats a condition, such as `issue.number gt 10`. */
export const conditionText = (path: string, value: Json | undefined): string =>
  isObject(value) && "op" in value
    ? `${path} ${text(value.op)} ${text(value.value)}`
    : `${path} = ${text(value)}`;

const GISTS: Readonly<Record<string, (parameters: JsonObject) => string>> = {
  UserIntent: ({ parameters }) =>
    list(parameters)
      .map(({ name, optional }) => `${text(name)}${optional ? "?" : ""}`)
      .join(", "),
  Event: ({ params, filter }) =>
    [
      ...(isObject(params)
        ? Object.entries(params).map(([path, value]) => conditionText(path, value))
        : []),
      text(filter),
    ]
      .filter(Boolean)
      .join(", "),
  Schedule: ({ cron, timeZone }) => [text(cron), text(timeZone)].filter(Boolean).join(" "),
  HttpRequest: ({ method, url }) =>
    `${text(method) || "GET"} ${text(url).replace(/^https?:\/\//, "")}`,
  CallTool: ({ connection, tool }) => [text(connection), text(tool)].filter(Boolean).join(" · "),
  Condition: ({ conditions }) =>
    list(conditions)
      .map(({ left, op, right }) => `${text(left)} ${text(op)} ${text(right)}`)
      .join(", "),
  Return: ({ value, text: fallback }) => keysOf(value ?? fallback),
};

/** For other types: the first of these parameters that the node has. */
const MAIN_PARAMETERS = [
  "expression",
  "code",
  "instructions",
  "flow",
  "type",
  "items",
  "duration",
  "value",
];

export function gistOf({ type, parameters }: Pick<FlowNode, "type" | "parameters">): string {
  const summarize = GISTS[type];
  const summary = summarize
    ? summarize(parameters)
    : text(MAIN_PARAMETERS.map((field) => parameters[field]).find((value) => value !== undefined));
  return summary.replace(/\s+/g, " ").slice(0, 120);
}
