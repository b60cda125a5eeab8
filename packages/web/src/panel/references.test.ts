import { parseTemplate } from "@signalbox/rules/flows/template.ts";
import jsonata from "jsonata";
import { expect, test } from "vitest";
import { sampleGraph } from "../canvas/test-graph.ts";
import { referablesOf, writeReference } from "./references.ts";

test("returns the run's input and the outputs of the nodes before a node, with pins instead of outputs", () => {
  const steps = [{ nth: 3, node_id: "fetch", item: "", status: "done", output: { status: 200 } }];
  const run = { input: { repo: "a" }, steps } as unknown as Parameters<typeof referablesOf>[2];
  expect(referablesOf(sampleGraph(), "answer", run, { is_bug: { output: 1 } })).toEqual([
    { root: "trigger", name: "Input of the run", value: { repo: "a" }, nth: 0 },
    { root: "fetch", name: "fetch", value: { status: 200 }, nth: 3 },
    { root: "is_bug", name: "is_bug", value: 1 },
  ]);
});

const PATHS: [(string | number)[], string][] = [
  [[], "{{ fetch }}"],
  [["body", "items", 0, "name"], "{{ fetch.body.items[0].name }}"],
  [[0], "{{ fetch[0] }}"],
  [["odd name"], '{{ fetch["odd name"] }}'],
];

test.each(PATHS)("writes the keys %j as a template reference: %s", (keys, text) => {
  expect(writeReference("fetch", keys)).toBe(text);
  expect(parseTemplate(text).errors).toEqual([]);
});

const DATA = {
  trigger: { who: "Ada" },
  nodes: { fetch: { items: [{ "odd name": 7 }], body: { ok: true } } },
};

test.each([
  ["trigger", ["who"], "Ada"],
  ["fetch", ["items", 0, "odd name"], 7],
  ["fetch", ["body", "ok"], true],
] as const)(
  "writes code in JavaScript and JSONata that reads the value at %s and %j",
  async (root, keys, value) => {
    const javascript = writeReference(root, keys, "javascript");
    expect(new Function("trigger", "nodes", `return ${javascript}`)(DATA.trigger, DATA.nodes)).toBe(
      value,
    );
    expect(await jsonata(writeReference(root, keys, "jsonata")).evaluate(DATA)).toBe(value);
  },
);
