import { expect, it } from "vitest";
import { Permanent } from "../errors.ts";
import { testContext } from "../test-context.ts";
import { testFlow, testNode, testTool } from "../test-flow.ts";
import { validateFlow } from "../validate.ts";
import { forEach } from "./for-each.ts";
import { nodeTypes } from "./index.ts";

it("goes one after the other where nothing else is said", async () => {
  const context = testContext({ config: { items: [1, { a: 2 }] } });
  expect(await forEach.run(context)).toEqual({ each: { items: [1, { a: 2 }], atOnce: 1 } });
});

it.each([
  [null, "items: must be a list, but is null"],
  ["a,b", "items: must be a list, but is a string"],
  [{ a: 1 }, "items: must be a list, but is an object"],
  [new Array(10_001).fill(0), "items: must be at most 10000 items"],
])("fails for good where the items are no list, or too long a one", async (items, message) => {
  const failed = forEach.run(testContext({ config: { items } }));
  await expect(failed).rejects.toBeInstanceOf(Permanent);
  await expect(failed).rejects.toMatchObject({ message });
});

it("names its item and index for what comes after the port `item`, and nowhere else", () => {
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
