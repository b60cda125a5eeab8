/** In workerd no code can be made out of text: validators and expressions must do without. */
import { expect, it } from "vitest";
import { matchTrigger } from "../match/match-trigger.ts";
import { nodeTypes } from "./nodes/index.ts";
import { checkArguments, parametersSchema } from "./parameters.ts";
import { testFlow, testNode, testTool } from "./test-flow.ts";
import { validateFlow } from "./validate.ts";

it("events are matched, with filters", async () => {
  const event = { tenant: "acme", source: "github", type: "push", data: { n: 7 } };
  const trigger = { tenant: "acme", source: "github", isActive: true, filter: "data.n > 5" };
  expect(await matchTrigger(event, trigger)).toMatchObject({ matched: true });
  expect(await matchTrigger(event, { ...trigger, filter: "data.n > 9" })).toMatchObject({
    matched: false,
  });
});

it("arguments are checked", () => {
  const parameters = parametersSchema.parse([{ name: "city" }, { name: "n", type: "integer" }]);
  expect(checkArguments(parameters, { city: "Bern", n: 1 })).toMatchObject({ ok: true });
  expect(checkArguments(parameters, { city: 1 })).toMatchObject({
    errors: [{ path: "city" }, { path: "n" }],
  });
});

it("patterns are tried without the engine that takes for ever", () => {
  const schema = { type: "string", pattern: "^(a+)+$", format: "hostname" };
  const parameters = parametersSchema.parse([{ name: "x", schema }]);
  expect(checkArguments(parameters, { x: "a".repeat(40) })).toMatchObject({ ok: true });
  expect(checkArguments(parameters, { x: `${"a".repeat(40)}!` })).toMatchObject({ ok: false });
});

it("flows are validated", () => {
  const end = testNode("Return", "End", { value: "{{ ghost.x }}" });
  const flow = testFlow([testTool("Ünïcode"), end], ["unicode → end"]);
  expect(validateFlow(flow, nodeTypes)).toMatchObject({
    errors: [{ code: "dangling_reference" }],
    warnings: [],
  });
});
