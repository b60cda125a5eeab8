import { expect, it } from "vitest";
import { issuesOf } from "../issues.ts";
import { userIntent, userIntentConfig } from "./user-intent.ts";

const good = { toolName: "go", toolDescription: "Goes." };
const problems = (config: object) => {
  const { error } = userIntentConfig.safeParse(config);
  return error ? issuesOf(error).map(({ path }) => path) : [];
};

it("is active and has no parameters by default", () => {
  expect(userIntentConfig.parse(good)).toMatchObject({ isActive: true, parameters: [] });
});

it("accepts existing tool names that violate the rule for new names", () => {
  expect(problems({ ...good, toolName: "Get-Weather.v2" })).toEqual([]);
});

it.each([
  [{ toolName: "天気", toolDescription: "x" }, "toolName"],
  [{ toolName: "", toolDescription: "x" }, "toolName"],
  [{ toolName: "x" }, "toolDescription"],
  [{ ...good, parameters: [{ name: "a b" }] }, "parameters[0].name"],
  [{ ...good, parameters: [{ name: "a" }, { name: "a" }] }, "parameters[1].name"],
  [{ ...good, isActive: "yes" }, "isActive"],
  [{ ...good, concurrency: { most: 1, whenFull: "later" } }, "concurrency.whenFull"],
])("rejects %j and reports the path %s", (config, path) => {
  expect(problems(config)).toEqual([path]);
});

it("derives its output schema from its parameters", () => {
  expect(userIntent.outputSchema({ ...good, parameters: [{ name: "a" }] })).toMatchObject({
    properties: { a: { type: "string" } },
  });
});
