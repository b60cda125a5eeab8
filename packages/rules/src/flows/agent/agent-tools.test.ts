import fc from "fast-check";
import { expect, test } from "vitest";
import { agentTools } from "./agent-tools.ts";

const tool = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: {} });
const names = (sources: Parameters<typeof agentTools>[0]) =>
  agentTools(sources).map(({ name }) => name);

test("joins the names of the connection and the tool, and returns both for the call", () => {
  expect(agentTools([{ connection: "tracker-1", tools: [tool("add_label")] }])).toEqual([
    {
      name: "tracker-1__add_label",
      description: "Does add_label.",
      inputSchema: {},
      connection: "tracker-1",
      tool: "add_label",
    },
  ]);
  expect(names([{ tools: [tool("get_event")] }])).toEqual(["inbox__get_event"]);
});

test("offers only the tools that the config names, and throws if one does not exist", () => {
  const tools = [tool("a"), tool("b")];
  expect(names([{ connection: "c", tools, names: ["b", "b"] }])).toEqual(["c__b"]);
  expect(() => names([{ connection: "c", tools, names: ["x"] }])).toThrow(
    "tools: the connection c has no tool x; it has a, b.",
  );
});

test("offers TRIGGER_LIST and TRIGGER_CONFIGURE only if the config names them", () => {
  const tools = [tool("TRIGGER_LIST"), tool("TRIGGER_CONFIGURE"), tool("a")];
  expect(names([{ connection: "c", tools }])).toEqual(["c__a"]);
  expect(names([{ connection: "c", tools, names: ["TRIGGER_LIST"] }])).toEqual(["c__TRIGGER_LIST"]);
});

test("rejects more tools than providers accept", () => {
  const tools = Array.from({ length: 129 }, (_, index) => tool(`t${index}`));
  expect(() => names([{ connection: "c", tools }])).toThrow(/at most 128 tools.*129/);
});

test("returns unique names with at most 64 characters that providers accept", () => {
  const name = fc.oneof(fc.string({ minLength: 1, maxLength: 200 }), fc.constantFrom("a.b", "a/b"));
  const source = fc.record({ connection: name, tools: fc.array(name, { maxLength: 10 }) });
  fc.assert(
    fc.property(fc.array(source, { maxLength: 5 }), (sources) => {
      const modelNames = names(
        sources.map(({ connection, tools }) => ({ connection, tools: tools.map(tool) })),
      );
      expect(new Set(modelNames).size).toBe(modelNames.length);
      for (const modelName of modelNames) expect(modelName).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
  );
});
