import { parseTemplate } from "@signalbox/rules/flows/template.ts";
import { expect, test } from "vitest";
import { sampleGraph } from "../canvas/test-graph.ts";
import { toPath } from "../ui/json-tree/path.ts";
import { referablesOf, writeReference } from "./references.ts";

test("a node can refer to the trigger and to the nodes before it, with the data of a run", () => {
  const steps = [{ node_id: "fetch", item: "", status: "done", output: { status: 200 } }];
  const run = { input: { repo: "a" }, steps } as unknown as Parameters<typeof referablesOf>[2];
  expect(referablesOf(sampleGraph(), "answer", run, { is_bug: { output: 1 } })).toEqual([
    { root: "trigger", name: "What started the run", value: { repo: "a" } },
    { root: "fetch", name: "fetch", value: { status: 200 } },
    { root: "is_bug", name: "is_bug", value: 1 },
  ]);
});

test.each([
  [[], "{{ fetch }}"],
  [["body", "items", 0, "name"], "{{ fetch.body.items[0].name }}"],
  [[0], "{{ fetch[0] }}"],
  [["odd name"], '{{ fetch["odd name"] }}'],
])("the path %j is a reference that templates understand", (keys, text) => {
  expect(writeReference("fetch", toPath(keys))).toBe(text);
  expect(parseTemplate(text).errors).toEqual([]);
});
