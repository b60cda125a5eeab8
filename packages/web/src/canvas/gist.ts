/** What a node does, in one short line of code. */
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

/** `issue.number gt 10` */
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
  Return: ({ value, text: words }) => keysOf(value ?? words),
};

/** The fields that say most, for types without a line of their own. */
const TELLING = [
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
  const own = GISTS[type];
  const found = own
    ? own(parameters)
    : text(TELLING.map((field) => parameters[field]).find((value) => value !== undefined));
  return found.replace(/\s+/g, " ").slice(0, 120);
}
