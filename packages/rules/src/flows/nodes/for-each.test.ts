import { expect, it } from "vitest";
import { Permanent } from "../errors.ts";
import { testContext } from "../test-context.ts";
import { testFlow, testNode, testTool } from "../test-flow.ts";
import { validateFlow } from "../validate.ts";
import { forEach } from "./for-each.ts";
import { nodeTypes } from "./index.ts";

it("processes one item at a time by default", async () => {
  const context = testContext({ config: { items: [1, { a: 2 }] } });
  expect(await forEach.run(context)).toEqual({ each: { items: [1, { a: 2 }], atOnce: 1 } });
});

it.each([
  [null, "items: must be an array, but is null"],
  ["a,b", "items: must be an array, but is a string"],
  [{ a: 1 }, "items: must be an array, but is an object"],
  [new Array(10_001).fill(0), "items: must have at most 10000 items"],
])("fails permanently for invalid items with the message: $1", async (items, message) => {
  const failed = forEach.run(testContext({ config: { items } }));
  await expect(failed).rejects.toBeInstanceOf(Permanent);
  await expect(failed).rejects.toMatchObject({ message });
});

it("defines item and index only for the nodes after its port `item`", () => {
  const flow = (port: string) =>
    testFlow(
      [
        testTool("Start"),
        testNode("ForEach", "Each", { items: "{{ trigger.list }}" }),
        testNode("EmitEvent", "Emit", { type: "x", data: { a: "{{ item.x }}", b: "{{ index }}" } }),
      ],
      ["start → each", `each:${port} → emit`],
    );
  const codes = (port: string) =>
    validateFlow(flow(port), nodeTypes).errors.map(({ code }) => code);
  expect(codes("item")).toEqual([]);
  expect(codes("done")).toEqual(["not_in_loop", "not_in_loop"]);
});
