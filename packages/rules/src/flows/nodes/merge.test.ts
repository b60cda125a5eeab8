import { expect, it } from "vitest";
import { testContext } from "../test-context.ts";
import { merge } from "./merge.ts";

const inputs = [
  { slug: "b", port: "in", output: 2 },
  { slug: "a", port: "in", output: { x: 1 } },
];
const run = (combine: string, nodeInputs = inputs) =>
  merge.run(testContext({ config: { combine }, inputs: nodeInputs }));

it.each([
  ["object", { b: 2, a: { x: 1 } }],
  ["list", [2, { x: 1 }]],
  ["first", 2],
])("combines the outputs as %s", async (combine, output) => {
  expect(await run(combine)).toEqual({ output });
});

it("combines the output of a single branch, and returns null without branches", async () => {
  expect(await run("object", inputs.slice(1))).toEqual({ output: { a: { x: 1 } } });
  expect(await run("first", [])).toEqual({ output: null });
});
