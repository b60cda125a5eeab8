import { expect, it } from "vitest";
import { analyzeExpression } from "./analyze-expression.ts";
import { nodeTypes } from "./nodes/index.ts";
import { renameNode } from "./rename-node.ts";
import { testFlow, testNode, testTool } from "./test-flow.ts";
import { validateFlow } from "./validate.ts";

const flow = testFlow(
  [
    testTool("Get Weather", { toolDescription: "Says {{ get_weather.x }}" }),
    testNode("Merge", "Fetch"),
    testNode("Return", "End", {
      value: { a: "{{ get_weather.city }}/{{ fetch.x }}", b: "get_weather.city" },
      schema: { description: "{{ get_weather.city }}" },
    }),
  ],
  ["get_weather → fetch", "fetch → end"],
);
const rename = (id: string, name: string, taken: string[] = []) =>
  renameNode(flow, id, name, nodeTypes, new Set(taken), analyzeExpression);

it("changes the slug and tool name of a trigger, and rewrites references", () => {
  const renamed = rename("get_weather", "Weather now");
  expect(renamed).toMatchObject({
    slug: { from: "get_weather", to: "weather_now" },
    tool: { from: "get_weather", to: "weather_now" },
  });
  const [trigger, fetch, end] = renamed?.flow.nodes ?? [];
  expect(trigger).toMatchObject({
    id: "get_weather",
    name: "Weather now",
    slug: "weather_now",
    parameters: { toolName: "weather_now", toolDescription: "Says {{ get_weather.x }}" },
  });
  expect(fetch).toBe(flow.nodes[1]);
  expect(end?.parameters).toEqual({
    value: { a: "{{ weather_now.city }}/{{ fetch.x }}", b: "get_weather.city" },
    schema: { description: "{{ get_weather.city }}" },
  });
  expect(flow.nodes[0]?.name).toBe("Get Weather");
});

it("appends the lowest unused numbers to the slug and the tool name", () => {
  expect(rename("get_weather", "Fetch", ["fetch", "fetch_2"])).toMatchObject({
    slug: { to: "fetch_2" },
    tool: { to: "fetch_3" },
  });
});

it("does not change a tool name if the node is not a tool", () => {
  const renamed = rename("fetch", "Load");
  expect(renamed).toEqual({ flow: expect.anything(), slug: { from: "fetch", to: "load" } });
  expect(renamed?.flow.nodes[2]?.parameters.value).toMatchObject({
    a: "{{ get_weather.city }}/{{ load.x }}",
  });
});

it("changes only the name if the slug stays the same", () => {
  const renamed = rename("get_weather", "get weather!");
  expect(renamed?.tool).toBeUndefined();
  expect(renamed?.flow.nodes[2]).toBe(flow.nodes[2]);
});

it("returns undefined for an unknown node", () => {
  expect(rename("ghost", "X")).toBeUndefined();
});

it("rewrites references in JSONata, but not in JavaScript, which then causes a warning", () => {
  const code = "return nodes.get_weather.city;";
  const expression = "nodes.get_weather.city & $$.nodes.`get_weather`.x & 'nodes.get_weather'";
  const withCode = testFlow(
    [
      testTool("Get Weather"),
      testNode("Transform", "Shape", { expression }),
      testNode("Code", "Count", { code }),
    ],
    ["get_weather → shape", "shape → count"],
  );
  const renamed = renameNode(
    withCode,
    "get_weather",
    "Weather now",
    nodeTypes,
    new Set(),
    analyzeExpression,
  );
  const [, shape, count] = renamed?.flow.nodes ?? [];
  expect(shape?.parameters.expression).toBe(
    "nodes.weather_now.city & $$.nodes.`weather_now`.x & 'nodes.get_weather'",
  );
  expect(count?.parameters.code).toBe(code);
  expect(validateFlow(renamed?.flow ?? withCode, nodeTypes).warnings).toMatchObject([
    { code: "unknown_node_in_code", nodeId: "count" },
  ]);
});
