/**
 * A param of a trigger compares a value of the event with a plain value, which must be equal, or with
 * `{ op, value }`. A blank param matches every event.
 */
import { z } from "zod";
import { isObject, type Json } from "../json.ts";
import { MAX_GLOB_LENGTH } from "./glob.ts";
import { type Operator, operators } from "./operators.ts";
import { parsePath } from "./path.ts";

export interface Test {
  op: Operator;
  value: Json;
}

const MAX_LIST_ITEMS = 1000;
const MAX_PARAMS = 50;

const isOperator = (value: Json | undefined): value is Operator =>
  operators.some((operator) => operator === value);

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "");

/** Returns `any` for a blank param, and a problem for an invalid one. */
export function readParam(param: Json): Test | "any" | { problem: string } {
  if (isBlank(param)) return "any";
  if (!isObject(param) || !Object.hasOwn(param, "op")) return { op: "eq", value: param };
  const { op, value, ...rest } = param;
  if (!isOperator(op))
    return { problem: `op must be one of ${operators.join(", ")}, but is ${JSON.stringify(op)}` };
  if (Object.keys(rest).length > 0)
    return {
      problem: `unexpected field ${Object.keys(rest).join(", ")}: only op and value are allowed`,
    };
  if (op === "exists") return { op, value: isBlank(value) ? true : (value as Json) };
  if (isBlank(value)) return "any";
  // Such a pattern matches nothing, and an object with a field `toString` cannot be converted to text.
  if (op === "glob" && typeof value === "object")
    return { problem: "value must be text if op is 'glob'" };
  if (op === "glob" && String(value).length > MAX_GLOB_LENGTH)
    return { problem: `value must have at most ${MAX_GLOB_LENGTH} characters if op is 'glob'` };
  if (op !== "in") return { op, value: value as Json };
  // Forms submit a list as a string, such as "red, green".
  const list = typeof value === "string" ? value.split(",").map((item) => item.trim()) : value;
  if (!Array.isArray(list)) return { problem: "value must be a list if op is 'in'" };
  if (list.length > MAX_LIST_ITEMS)
    return { problem: `value must have at most ${MAX_LIST_ITEMS} items if op is 'in'` };
  return list.length === 0 ? "any" : { op, value: list };
}

/** The params of a trigger. Each name is a path into the event's data. */
export const paramsSchema = z
  .record(z.string().max(200), z.json())
  .refine(
    (params) => Object.keys(params).length <= MAX_PARAMS,
    `must have at most ${MAX_PARAMS} params`,
  )
  .superRefine((params, context) => {
    for (const [path, param] of Object.entries(params)) {
      const test = readParam(param);
      const problem = !parsePath(path)
        ? "is not a path such as issue.title or issue.labels[].name"
        : typeof test === "object" && "problem" in test
          ? test.problem
          : undefined;
      if (problem) context.addIssue({ code: "custom", path: [path], message: problem });
    }
  });
