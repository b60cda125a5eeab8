import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mentionsIn, renameInCode } from "./code-mentions.ts";

const inJavaScript = (code: string) => mentionsIn({ type: "Code", parameters: { code } })?.slugs;
const inJsonata = (expression: string) =>
  mentionsIn({ type: "Transform", parameters: { expression } })?.slugs;

describe("JavaScript", () => {
  it.each([
    ["return nodes.fetch.body", ["fetch"]],
    ["return nodes?.fetch?.body + nodes . load", ["fetch", "load"]],
    ["return nodes['fetch'] ?? nodes?.[\"load\"]", ["fetch", "load"]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code as a text
    ["return [...nodes.fetch, `${nodes.load}`]", ["fetch", "load"]],
    ["return input.nodes.fetch", []],
    ["return mynodes.fetch + $nodes.fetch", []],
    ['// nodes.fetch\n/* nodes.fetch */ return "nodes.fetch"', []],
    ["return nodes.hasOwnProperty('fetch') && nodes.constructor", []],
    ["const nodes = input.list; return nodes.length", []],
    ["return input.map((nodes) => nodes.length)", []],
    ["const { nodes } = input; return nodes.length", []],
    ["return Object.keys(nodes).length + nodes.fetch", ["fetch"]],
  ])("%s: %j", (code, slugs) => {
    expect(inJavaScript(code)).toEqual(slugs);
  });

  it("of any form is looked through in time", () => {
    for (const part of [
      "nodes",
      "nodes.",
      "{nodes,",
      "(nodes ",
      '"nodes',
      "nodes[ ",
      "/*nodes",
      ".",
    ])
      expect(inJavaScript(`nodes${part.repeat(100_000 / part.length)}`)).toBeDefined();
  });
});

describe("JSONata", () => {
  it.each([
    ["nodes.fetch.body", ["fetch"]],
    ["$$.nodes.fetch[$$.nodes.load.x = 1]", ["fetch", "load"]],
    ["nodes.`fetch` & nodes.'load'", ["fetch", "load"]],
    ["{ 'a': nodes.fetch, 'b': [nodes.load] }", ["fetch", "load"]],
    ["$map(input, function($v) { nodes.fetch + $v })", ["fetch"]],
    ["($x := nodes.fetch; $x.y ? nodes.load : 1)", ["fetch", "load"]],
    ["input.nodes.fetch", []],
    ["input.(nodes.fetch)", []],
    ["input[nodes.fetch = 1]", []],
    ["input{ nodes.fetch: 1 }", []],
    ["nodes.(", []],
    ["nodes.* & 'nodes.fetch' /* nodes.fetch */", []],
  ])("%s: %j", (expression, slugs) => {
    expect(inJsonata(expression)).toEqual(slugs);
  });

  const rename = (expression: string, to = "load") =>
    renameInCode("Transform", { expression }, "fetch", to).expression;

  it.each([
    ["nodes.fetch.fetch", "nodes.load.fetch"],
    ["nodes . fetch & nodes.fetching", "nodes . load & nodes.fetching"],
    ["nodes.`fetch` & nodes.'fetch'", "nodes.`load` & nodes.`load`"],
    ["nodes./* fetch */fetch[nodes.fetch = 1]", "nodes./* fetch */load[nodes.fetch = 1]"],
    ["input.(nodes.fetch)", "input.(nodes.fetch)"],
    ["nodes.(", "nodes.("],
  ])("%s becomes %s", (before, after) => {
    expect(rename(before)).toBe(after);
  });

  it("has words that cannot stand as a name", () => {
    for (const word of ["and", "or", "in", "true", "null", "function"])
      expect(inJsonata(String(rename("nodes.fetch.x", word)))).toEqual([word]);
  });

  it("says the same of the node after it was renamed, whatever it is made of", () => {
    const part = fc.constantFrom(
      "nodes",
      ".",
      "fetch",
      "(",
      ")",
      "[",
      "]",
      " & ",
      "$$",
      "'",
      "`",
      "1",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const before = parts.join("");
        const renamed = (inJsonata(before) ?? []).map((slug) => (slug === "fetch" ? "load" : slug));
        expect(inJsonata(String(rename(before))) ?? []).toEqual(renamed);
      }),
    );
  });
});

it("nodes without code say nothing", () => {
  expect(mentionsIn({ type: "Merge", parameters: { code: "nodes.fetch" } })).toBeUndefined();
  expect(mentionsIn({ type: "Code", parameters: { code: 7 } })).toBeUndefined();
  const parameters = { code: "nodes.fetch" };
  expect(renameInCode("Code", parameters, "fetch", "load")).toBe(parameters);
});
