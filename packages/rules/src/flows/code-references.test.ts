import fc from "fast-check";
import jsonata from "jsonata";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json.ts";
import { analyzeExpression } from "./analyze-expression.ts";
import { codeReferences, renameInCode } from "./code-references.ts";
import { nodeTypes } from "./nodes/index.ts";

const references = (type: string, parameters: JsonObject) =>
  codeReferences({ parameters }, nodeTypes.get(type), analyzeExpression);

const inJavaScript = (code: string) => references("Code", { code })?.slugs;
const inJsonata = (expression: string) => references("Transform", { expression })?.slugs;

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
    ["return nodes.length", []],
    ["function count(nodes) { return nodes.size }", []],
    ["const all = nodes\nreturn all", []],
    [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: code as a text
      "return `nodes.a ${`nodes.b ${{ c: nodes.fetch }.c} nodes.d`} nodes.e \\` nodes.f`",
      ["fetch"],
    ],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: code as a text
    ["return `${{ c: 1 }.c + nodes.fetch}`", ["fetch"]],
    ["return /nodes.abc/.test(input) || [/[/]nodes.d/g, /\\/nodes.e/]", []],
    ["return input / nodes.fetch.x / nodes.load.x", ["fetch", "load"]],
    ["return (1) / nodes.fetch / input[0] / nodes.load", ["fetch", "load"]],
    ["return nodes['my_nodes'] + \"it's nodes.x\" + nodes['my node']", ["my_nodes", "my node"]],
  ])("`%s` refers to %j", (code, slugs) => {
    expect(inJavaScript(code)).toEqual(slugs);
  });

  it("is scanned in linear time", () => {
    for (const part of [
      "nodes",
      "nodes.",
      "{nodes,",
      "(nodes ",
      '"nodes',
      "nodes[ ",
      "/*nodes",
      "/[nodes",
      "`${nodes",
      "function nodes(",
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
    ["($f := function($n, $i) { $i > 0 ? $f($n, $i - 1) : $n.fetch }; $f(nodes, 9))", ["fetch"]],
    ["($f := function($n) { $f($f($n)) + $f($n.fetch) }; $f(nodes))", ["fetch"]],
    ["input.$.nodes.fetch & input.($n := nodes; $n.fetch)", []],
    ["$map(input.nodes, function($n) { $n.fetch }) & $lookup(input, 'fetch')", []],
    [
      "($same := function($n) { $n }; $f := function($n) { $same($n) }; $f(nodes).fetch)",
      ["fetch"],
    ],
    ["(nodes{ 'a': 1 }).fetch & nodes@$n.fetch", []],
    ["($get := function() { nodes }; $get().fetch)", ["fetch"]],
    ["($n := input; $n.fetch; ($n := nodes); $n.fetch)", []],
    ["(input.x ? nodes : input).fetch & [nodes, input].fetch", []],
  ])("`%s` refers to %j", (expression, slugs) => {
    expect(inJsonata(expression)).toEqual(slugs);
  });

  const rename = (expression: string, to = "load") =>
    renameInCode(
      nodeTypes.get("Transform"),
      { expression },
      { from: "fetch", to },
      analyzeExpression,
    ).expression;

  it.each([
    ["nodes.fetch.fetch", "nodes.load.fetch"],
    ["nodes . fetch & nodes.fetching", "nodes . load & nodes.fetching"],
    ["nodes.`fetch` & nodes.'fetch'", "nodes.`load` & nodes.'load'"],
    ["nodes./* fetch */fetch[nodes.fetch = 1]", "nodes./* fetch */load[nodes.fetch = 1]"],
    ['$lookup(nodes, "fetch") & "fetch"', '$lookup(nodes, "load") & "fetch"'],
    ["nodes.fetch ?: nodes.fetch.x", "nodes.load ?: nodes.load.x"],
    ["input.(nodes.fetch)", "input.(nodes.fetch)"],
    ["nodes.(", "nodes.("],
  ])("`%s` becomes `%s` when fetch is renamed to load", (before, after) => {
    expect(rename(before)).toBe(after);
  });

  const output = { x: 1, list: [{ x: 2 }, { x: 3 }] };
  const dataWith = (slug: string) => ({ input: { x: 7 }, nodes: { [slug]: output, b: { x: 9 } } });

  it.each([
    "$.nodes.fetch.x",
    "$$.nodes.fetch.x",
    "(nodes).fetch.x",
    "[nodes].fetch.x",
    "nodes.(fetch.x)",
    "nodes.(b.x; $.fetch.x + $lookup($, 'fetch').x + $$.nodes.fetch.x)",
    'nodes.{"a": fetch.x}',
    "nodes.[fetch.x]",
    "nodes[fetch.x = 1].b",
    "$[nodes.fetch.x = 1].input",
    "nodes{ 'a': fetch.x }",
    "nodes^(fetch.x).fetch.x",
    '$lookup(nodes, "fetch").x',
    "nodes.$lookup('fetch').x",
    "nodes ~> $lookup('fetch')",
    "$lookup($, 'nodes').fetch",
    "($n := nodes; $key := 'fetch'; [$n.fetch.x, $lookup($n, $key).x, ($n).b.x])",
    "($all := $; $map([1, 2], function($i) { $all.nodes.fetch.x + $i }))",
    "($of := function($n) { $n.fetch.x }; $of(nodes))",
    "nodes ~> function($n) { $n.fetch.x }",
    "$ ~> |nodes.fetch|{ 'y': x }| ~> $lookup('nodes') ~> $string",
    "$ ~> |nodes|{ 'y': fetch.x }| ~> $string",
    "nodes.fetch.list[x = $$.nodes.fetch.x + 1].x",
    "nodes@$n.input.[$n.fetch.x]",
    "nodes ? nodes.fetch.x : 0",
    "input.x in nodes.fetch.list.x",
    "(input.x > 1 ? nodes : $.nodes).fetch.x",
  ])("`%s` returns the same result after the node is renamed", async (expression) => {
    const before = (await jsonata(expression).evaluate(dataWith("fetch"))) as unknown;
    const after = (await jsonata(String(rename(expression))).evaluate(dataWith("load"))) as unknown;
    const serialize = (value: unknown) => JSON.stringify(value)?.replaceAll("fetch", "load");
    expect(serialize(before)).toBeDefined();
    expect(serialize(after)).toBe(serialize(before));
    expect(inJsonata(expression)).toContain("fetch");
  });

  it("gets quotes around the new slug if it is a keyword", () => {
    for (const word of ["and", "or", "in", "true", "null", "function"])
      expect(inJsonata(String(rename("nodes.fetch.x", word)))).toEqual([word]);
  });

  it("refers to the renamed nodes after a rename, for any expression", () => {
    const part = fc.constantFrom(
      "nodes",
      ".",
      "fetch",
      "$lookup(",
      "($n := ",
      "; $n.",
      "{",
      "}",
      ":",
      ", ",
      " ~> ",
      "|",
      "?",
      "function($n) {",
      "$",
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

it("codeReferences ignores filters and nodes without code, and renameInCode ignores JavaScript", () => {
  expect(references("Merge", { code: "nodes.fetch" })).toBeUndefined();
  expect(references("Code", { code: 7 })).toBeUndefined();
  expect(references("Event", { source: "github", filter: "nodes.fetch" })).toBeUndefined();
  const parameters = { code: "nodes.fetch" };
  const names = { from: "fetch", to: "load" };
  expect(renameInCode(nodeTypes.get("Code"), parameters, names, analyzeExpression)).toBe(
    parameters,
  );
});
