import { expect, it } from "vitest";
import { testContext } from "../test-context.ts";
import { switchNode } from "./switch.ts";

const cases = [
  { name: "small", op: "lt", value: 10 },
  { name: "seven", value: 7 },
  { name: "large", op: "gt", value: 100 },
];

it.each([
  [7, "small"],
  [500, "large"],
  [50, "default"],
  [null, "default"],
])("continues for the value %j on the port %s", async (value, port) => {
  const config = { value, cases };
  expect(await switchNode.run(testContext({ config, input: 1 }))).toEqual({ port, output: 1 });
});

it("has a port for each case, `default` and `error`", () => {
  expect(switchNode.outPorts({ value: 1, cases })).toEqual([
    "small",
    "seven",
    "large",
    "default",
    "error",
  ]);
});

it.each(["default", "error", ""])("rejects a case named %j", (name) => {
  const config = { value: 1, cases: [{ name, value: 1 }] };
  expect(switchNode.config.safeParse(config).success).toBe(false);
});
