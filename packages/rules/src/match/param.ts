/** A param of a trigger: a plain value, or `{ op, value }`; a blank one matches anything. */
import { z } from "zod";
import { isObject, type Json } from "../json.ts";
import { GLOB_LENGTH } from "./glob.ts";
import { type Operator, operators } from "./operators.ts";
import { parsePath } from "./path.ts";

export interface Test {
  op: Operator;
  value: Json;
}

const MAX_LIST_ITEMS = 1000;
const MAX_PARAMS = 50;

const isOperator = (word: Json | undefined): word is Operator =>
  operators.some((operator) => operator === word);

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "");

/** Parses a param: a test, `any`, or the problem with it. */
export function readParam(param: Json): Test | "any" | { problem: string } {
  if (isBlank(param)) return "any";
  if (!isObject(param) || !Object.hasOwn(param, "op")) return { op: "eq", value: param };
  const { op, value, ...rest } = param;
  if (!isOperator(op))
    return { problem: `op must be one of ${operators.join(", ")}, but is ${JSON.stringify(op)}` };
  if (Object.keys(rest).length > 0)
    return { problem: `has ${Object.keys(rest).join(", ")} beside op and value` };
  if (op === "exists") return { op, value: isBlank(value) ? true : (value as Json) };
  if (isBlank(value)) return "any";
  if (op === "glob" && String(value).length > GLOB_LENGTH)
    return { problem: `value must be at most ${GLOB_LENGTH} characters for glob` };
  if (op !== "in") return { op, value: value as Json };
  // Forms submit a list as text: "red, green".
  const list = typeof value === "string" ? value.split(",").map((one) => one.trim()) : value;
  if (!Array.isArray(list)) return { problem: "value must be a list for in" };
  if (list.length > MAX_LIST_ITEMS)
    return { problem: `value must list at most ${MAX_LIST_ITEMS} for in` };
  return list.length === 0 ? "any" : { op, value: list };
}

/** As stored: the params by path into the event's data. */
export const paramsSchema = z
  .record(z.string().max(200), z.json())
  .refine((params) => Object.keys(params).length <= MAX_PARAMS, `must be at most ${MAX_PARAMS}`)
  .superRefine((params, context) => {
    for (const [path, param] of Object.entries(params)) {
      const read = readParam(param);
      const problem = !parsePath(path)
        ? "is not a path such as issue.title or issue.labels[].name"
        : typeof read === "object" && "problem" in read
          ? read.problem
          : undefined;
      if (problem) context.addIssue({ code: "custom", path: [path], message: problem });
    }
  });
