import { expect, it } from "vitest";
import { Permanent } from "../errors.ts";
import { testContext } from "../test-context.ts";
import { callFlow } from "./call-flow.ts";

it("calls the flow with the input, and returns its result", async () => {
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

it("fails with the error of the call", async () => {
  const error = new Permanent("There is no such flow.", { code: "no_flow" });
  const context = testContext({
    config: { flow: "x", trigger: "y" },
    callFlow: () => Promise.reject(error),
  });
  await expect(callFlow.run(context)).rejects.toBe(error);
});
