import { expect, it } from "vitest";
import { testContext } from "../test-context.ts";
import { returnNode } from "./return.ts";

it("returns its value, even if it is null, and its input if the value is omitted", async () => {
  const run = (config: { value?: null }) => returnNode.run(testContext({ config, input: "in" }));
  expect(await run({})).toEqual({ output: "in" });
  expect(await run({ value: null })).toEqual({ output: null });
});

it.each([
  [{ schema: { type: "object" }, value: 1 }, { type: "object" }],
  [{ value: "x {{ a.b }}" }, { type: "string" }],
  [{ value: "{{ a.b }}" }, {}],
  [{}, undefined],
  [
    { value: { city: "{{ a.b }}", note: "for {{ a.b }}", n: 1, ok: true, list: [], none: null } },
    {
      type: "object",
      properties: {
        city: {},
        note: { type: "string" },
        n: { type: "number" },
        ok: { type: "boolean" },
        list: { type: "array" },
        none: { type: "null" },
      },
      required: ["city", "note", "n", "ok", "list", "none"],
    },
  ],
])("%j has the output schema %j", (config, schema) => {
  expect(returnNode.outputSchema(config)).toEqual(schema);
});
