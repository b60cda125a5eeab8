import fc from "fast-check";
import { expect, test } from "vitest";
import { agentTools } from "./tool-names.ts";

const tool = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: {} });
const names = (sources: Parameters<typeof agentTools>[0]) =>
  agentTools(sources).map(({ name }) => name);

test("joins the connection and the tool, and keeps both for the call", () => {
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

test("offers the named tools, and reports a missing one", () => {
  const tools = [tool("a"), tool("b")];
  expect(names([{ connection: "c", tools, names: ["b", "b"] }])).toEqual(["c__b"]);
  expect(() => names([{ connection: "c", tools, names: ["x"] }])).toThrow(
    "tools: the connection c has no tool x; it has a, b.",
  );
});

test("offers the tools of the trigger handshake only by name", () => {
  const tools = [tool("TRIGGER_LIST"), tool("TRIGGER_CONFIGURE"), tool("a")];
  expect(names([{ connection: "c", tools }])).toEqual(["c__a"]);
  expect(names([{ connection: "c", tools, names: ["TRIGGER_LIST"] }])).toEqual(["c__TRIGGER_LIST"]);
});

test("rejects more tools than providers accept", () => {
  const tools = Array.from({ length: 129 }, (_, at) => tool(`t${at}`));
  expect(() => names([{ connection: "c", tools }])).toThrow(/at most 128 tools.*129/);
});

test("names are unique, short, and of characters that providers accept: property", () => {
  const name = fc.oneof(fc.string({ minLength: 1, maxLength: 200 }), fc.constantFrom("a.b", "a/b"));
  const source = fc.record({ connection: name, tools: fc.array(name, { maxLength: 10 }) });
  fc.assert(
    fc.property(fc.array(source, { maxLength: 5 }), (sources) => {
      const found = names(
        sources.map(({ connection, tools }) => ({ connection, tools: tools.map(tool) })),
      );
      expect(new Set(found).size).toBe(found.length);
      for (const one of found) expect(one).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
  );
});
