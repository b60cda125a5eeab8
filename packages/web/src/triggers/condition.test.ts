import type { Json } from "@signalbox/rules/json.ts";
import { operators } from "@signalbox/rules/match/operators.ts";
import { expect, it } from "vitest";
import { conditionProblem, OPERATORS, readCondition, writeCondition } from "./condition.ts";

it("has a label for every operator", () =>
  expect(OPERATORS.map(({ op }) => op).toSorted()).toEqual(operators.toSorted()));

it.each<[Json | undefined, string, string]>([
  [undefined, "eq", ""],
  [null, "eq", ""],
  ["opened", "eq", "opened"],
  [7, "eq", "7"],
  [["a", "b"], "eq", '["a","b"]'],
  [{ op: "in", value: ["red", "green"] }, "in", "red, green"],
  [{ op: "in", value: "red, green" }, "in", "red, green"],
  [{ op: "gt", value: 10 }, "gt", "10"],
  [{ op: "exists" }, "exists", "true"],
  [{ op: "exists", value: false }, "exists", "false"],
  [{ op: "like", value: "x" }, "eq", '{"op":"like","value":"x"}'],
  [{ plain: "object" }, "eq", '{"plain":"object"}'],
])("reads %j as the operator %s with the text %s", (param, op, text) =>
  expect(readCondition(param)).toEqual({ op, text }),
);

it.each<[Parameters<typeof writeCondition>[0], Json]>([
  [{ op: "eq", text: "opened" }, "opened"],
  [{ op: "eq", text: "007" }, "007"],
  [{ op: "eq", text: '["a","b"]' }, ["a", "b"]],
  [{ op: "eq", text: "[not JSON" }, "[not JSON"],
  [
    { op: "in", text: "red, , green," },
    { op: "in", value: ["red", "green"] },
  ],
  [
    { op: "exists", text: "" },
    { op: "exists", value: true },
  ],
  [
    { op: "glob", text: "v*" },
    { op: "glob", value: "v*" },
  ],
])("writes %j as %j", (condition, param) => expect(writeCondition(condition)).toEqual(param));

it.each([
  ["issue.labels[].name", "bug", undefined],
  ["issue..title", "x", "is not a path such as issue.title or issue.labels[].name"],
  ["", "x", "is not a path such as issue.title or issue.labels[].name"],
  ["a", { op: "in", value: 3 }, "value must be a list if op is 'in'"],
])("for the path %s and the param %j, reports: %s", (path, param, problem) =>
  expect(conditionProblem(path, param)).toBe(problem),
);
