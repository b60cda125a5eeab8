import { expect, test } from "vitest";
import { nodeTypes } from "./nodes/index.ts";
import { referencedNodes } from "./referenced-nodes.ts";

const inCode = (type: "Code" | "Transform", text: string) => {
  const definition = nodeTypes.get(type);
  const parameters = { [definition?.code?.field ?? ""]: text };
  const slugs = referencedNodes({ parameters }, definition);
  return slugs === "all" ? slugs : [...slugs];
};

test("returns the roots of the references in all templates", () => {
  const parameters = {
    url: "https://x/{{ a.b }}/{{ trigger.c }}",
    body: { list: ["{{ d }}", "{{ e[0] ?}}"] },
    settings: { timeoutMs: 5 },
  };
  const slugs = referencedNodes({ parameters }, nodeTypes.get("HttpRequest"));
  expect([...slugs]).toEqual(expect.arrayContaining(["a", "trigger", "d"]));
});

test.each([
  ["return 1", []],
  ["return input.x + trigger.y", []],
  ["return nodes.a.x + nodes . b", ["a", "b"]],
  ['return nodes["a b"]?.x', ["a b"]],
  ["return nodes['a']", ["a"]],
  ["return nodes[input.name]", "all"],
  ["return nodes?.a", "all"],
  ["const { a } = nodes; return a", "all"],
  ["return Object.keys(nodes)", "all"],
  ["return globalThis['no' + 'des'].a", "all"],
  ["return n\\u006fdes.a", "all"],
])("the JavaScript `%s` can read the nodes %j", (code, slugs) => {
  expect(inCode("Code", code)).toEqual(slugs);
});

test.each([
  ["input.x", []],
  ["$sum(input.prices)", []],
  ["nodes.a.x & nodes.`b c`", ["a", "b c"]],
  ["$keys(nodes)", "all"],
  ["$", "all"],
  ["$$.x", "all"],
  ["**.x", "all"],
  ["nodes.*", "all"],
])("the JSONata expression `%s` can read the nodes %j", (code, slugs) => {
  expect(inCode("Transform", code)).toEqual(slugs);
});
