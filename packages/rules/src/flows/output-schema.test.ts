import { expect, it } from "vitest";
import { z } from "zod";
import { createRegistry, defineNode } from "./node-type.ts";
import { nodeTypes } from "./nodes/index.ts";
import { outputSchemaOf } from "./output-schema.ts";
import { testFlow, testNode, testTool } from "./test-flow.ts";

const call = testTool("Call");
const merge = testNode("Merge", "Work");
const decide = testNode("Condition", "Decide", { conditions: [{ left: 1, op: "eq", right: 1 }] });
const city = { type: "object", properties: { city: { type: "string" } } };
const town = { type: "object", properties: { town: { type: "string" } } };
const end = testNode("Return", "End", { schema: city });
const other = testNode("Return", "Other", { schema: town });
const text = testNode("Return", "Text", { value: "just text" });
const loop = defineNode({
  type: "Loop",
  title: "Loop",
  description: "",
  icon: "X",
  kind: "logic",
  config: z.strictObject({}),
  ports: { in: ["in"], out: ["done", "item"] },
  locals: { item: ["item"] },
  sample: { config: {}, rejects: { config: {}, path: "" } },
});
const registry = createRegistry([...nodeTypes.values(), loop]);
const nodes = [testNode("Loop", "Each"), call, testTool("Second"), merge, decide, end, other, text];
const schemaFrom = (...edges: string[]) => outputSchemaOf(testFlow(nodes, edges), call, registry);

it("the output schema is the schema of the result that a run from the trigger reaches", () => {
  expect(schemaFrom("call → work", "work → end", "second → other")).toEqual(city);
});

it("the output schema is an anyOf of both schemas if a condition leads to one of two results", () => {
  expect(schemaFrom("call → decide", "decide:true → end", "decide:false → other")).toEqual({
    type: "object",
    anyOf: [city, town],
  });
});

it.each([
  ["there is no result", ["call → work"]],
  ["a branch of a condition has no result", ["call → decide", "decide:true → end"]],
  ["an error branch has no result", ["call → work", "work → end", "work:error → decide"]],
  ["the result is not an object", ["call → text"]],
  [
    "one of two results is not an object",
    ["call → decide", "decide:true → end", "decide:false → text"],
  ],
])("the output schema is undefined if %s", (_, edges) => {
  expect(schemaFrom(...edges)).toBeUndefined();
});

it("the output schema ignores results inside a loop", () => {
  expect(schemaFrom("call → each", "each:item → other", "each:done → end")).toEqual(city);
  expect(schemaFrom("call → each", "each:item → other")).toBeUndefined();
});

it("the output schema ignores parallel branches without a result", () => {
  expect(schemaFrom("call → end", "call → work")).toEqual(city);
});
