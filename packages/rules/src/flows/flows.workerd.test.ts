/** workerd forbids code generation from strings, so validators and expressions must not use it. */
import { expect, it } from "vitest";
import { runFilters } from "../match/filter.ts";
import { matchTriggers } from "../match/match-trigger.ts";
import { nodeTypes } from "./nodes/index.ts";
import { checkArguments, parametersSchema } from "./parameters.ts";
import { validateAll } from "./test-context.ts";
import { testFlow, testNode, testTool } from "./test-flow.ts";
import { validateFlow } from "./validate.ts";

it("matches events with filters", async () => {
  const event = { tenant: "acme", source: "github", type: "push", data: { n: 7 } };
  const trigger = { tenant: "acme", source: "github", isActive: true, filter: "data.n > 5" };
  const triggers = [trigger, { ...trigger, filter: "data.n > 9" }];
  expect(await matchTriggers(event, triggers, { evaluateFilters: runFilters })).toMatchObject([
    { matched: true },
    { matched: false },
  ]);
});

it("validates arguments", async () => {
  const parameters = parametersSchema.parse([{ name: "city" }, { name: "n", type: "integer" }]);
  expect(await checkArguments(parameters, { city: "Bern", n: 1 }, validateAll)).toMatchObject({
    ok: true,
  });
  expect(await checkArguments(parameters, { city: 1 }, validateAll)).toMatchObject({
    errors: [{ path: "city" }, { path: "n" }],
  });
});

it("validates patterns and formats", async () => {
  const schema = { type: "string", pattern: "^a+$", format: "hostname" };
  const parameters = parametersSchema.parse([{ name: "x", schema }]);
  expect(await checkArguments(parameters, { x: "a".repeat(40) }, validateAll)).toMatchObject({
    ok: true,
  });
  expect(await checkArguments(parameters, { x: "a!" }, validateAll)).toMatchObject({ ok: false });
});

it("validates flows", () => {
  const end = testNode("Return", "End", { value: "{{ ghost.x }}" });
  const flow = testFlow([testTool("Ünïcode"), end], ["unicode → end"]);
  expect(validateFlow(flow, nodeTypes)).toMatchObject({
    errors: [{ code: "dangling_reference" }],
    warnings: [],
  });
});
