/** Converts a param of a trigger to the fields of the form, and back: an operator, and its value as text. */
import { isObject, type Json } from "@signalbox/rules/json.ts";
import { type Operator, operators } from "@signalbox/rules/match/operators.ts";
import { readParam } from "@signalbox/rules/match/param.ts";
import { parsePath } from "@signalbox/rules/match/path.ts";

interface Condition {
  op: Operator;
  text: string;
}

export const OPERATORS: readonly { op: Operator; label: string }[] = [
  { op: "eq", label: "is" },
  { op: "ne", label: "is not" },
  { op: "in", label: "is one of" },
  { op: "contains", label: "contains" },
  { op: "starts_with", label: "starts with" },
  { op: "glob", label: "matches the pattern" },
  { op: "gt", label: "is greater than" },
  { op: "lt", label: "is less than" },
  { op: "exists", label: "exists" },
];

const isScalar = (value: Json): value is string | number | boolean =>
  value !== null && typeof value !== "object";

const textOf = (value: Json | undefined): string => {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value) && value.every(isScalar)) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
};

const operatorOf = (param: Json | undefined): Operator | undefined =>
  isObject(param) ? operators.find((op) => op === param.op) : undefined;

export function readCondition(param: Json | undefined): Condition {
  const op = operatorOf(param);
  if (op === undefined || !isObject(param))
    return {
      op: "eq",
      // A list without an operator must equal the whole value, so it is shown as JSON, unlike the list of `in`.
      text: Array.isArray(param) ? JSON.stringify(param) : textOf(param),
    };
  return { op, text: op === "exists" ? String(param.value !== false) : textOf(param.value) };
}

/** Returns a plain value for the operator `eq`, because MCP servers get only plain values. */
export function writeCondition({ op, text }: Condition): Json {
  if (op === "eq") return jsonOrText(text);
  if (op === "exists") return { op, value: text !== "false" };
  if (op !== "in") return { op, value: jsonOrText(text) };
  const items = text.split(",").map((item) => item.trim());
  return { op, value: items.filter((item) => item !== "") };
}

/** Parses only lists and objects. Other text stays a string, because matching treats `"7"` and 7 as equal. */
function jsonOrText(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** Returns what is wrong with a condition, before the hub checks it. */
export function conditionProblem(path: string, param: Json): string | undefined {
  if (!parsePath(path)) return "is not a path such as issue.title or issue.labels[].name";
  const read = readParam(param);
  return typeof read === "object" && "problem" in read ? read.problem : undefined;
}
