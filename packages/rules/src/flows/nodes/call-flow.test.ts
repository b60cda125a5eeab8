import { expect, it } from "vitest";
import { Permanent } from "../errors.ts";
import { testContext } from "../test-context.ts";
import { callFlow } from "./call-flow.ts";

it("calls with what it is given, and gives out the result", async () => {
  const calls: unknown[] = [];
  const context = testContext({
    config: callFlow.sample.config,
    callFlow: async (call) => {
      calls.push(call);
      return { degrees: 12 };
    },
  });
  expect(await callFlow.run(context)).toEqual({ output: { degrees: 12 } });
  expect(calls).toEqual([{ flow: "weather", trigger: "get_weather", input: { city: "Bern" } }]);
});

it("fails as the call does", async () => {
  const error = new Permanent("There is no such flow.", { code: "no_flow" });
  const context = testContext({
    config: { flow: "x", trigger: "y" },
    callFlow: () => Promise.reject(error),
  });
  await expect(callFlow.run(context)).rejects.toBe(error);
});
