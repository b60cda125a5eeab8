import { expect, it } from "vitest";
import { conditionAt } from "./condition-at.ts";

const payload = { issue: { number: 7, labels: [{ name: "bug" }] }, "odd.name": null };

it.each([
  [["issue", "number"], "issue.number", "7"],
  [["issue", "labels", 0, "name"], "issue.labels[].name", "bug"],
  [["issue", "labels"], "issue.labels", { op: "exists", value: true }],
  [["odd.name"], '["odd.name"]', { op: "exists", value: true }],
])("creates a condition from the value at %j", (keys, path, param) =>
  expect(conditionAt(payload, keys)).toEqual({ path, param }),
);
