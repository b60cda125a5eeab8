import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTemplate, type Reference, writeReference } from "./template.ts";

const references = (text: string) =>
  parseTemplate(text).parts.flatMap((part) => (part.kind === "reference" ? [part] : []));

describe("a reference", () => {
  it.each<[string, string, (string | number)[], boolean]>([
    ["{{ trigger.x }}", "trigger", ["x"], false],
    ["{{trigger}}", "trigger", [], false],
    ["{{ fetch.items[0].name }}", "fetch", ["items", 0, "name"], false],
    ['{{ fetch["key with spaces"].x }}', "fetch", ["key with spaces", "x"], false],
    ['{{ fetch["a\\"b\\\\c"] }}', "fetch", ['a"b\\c'], false],
    ['{{ fetch["}}"] }}', "fetch", ["}}"], false],
    ["{{ fetch.x-y.größe }}", "fetch", ["x-y", "größe"], false],
    ["{{ secrets.API_KEY }}", "secrets", ["API_KEY"], false],
    ["{{ item.id? }}", "item", ["id"], true],
    ["{{ index ? }}", "index", [], true],
    ["{{\n\ttrigger.x\n}}", "trigger", ["x"], false],
    ["{{ fetch.__proto__ }}", "fetch", ["__proto__"], false],
    ["{{ old-slug.x }}", "old-slug", ["x"], false],
  ])("%s has the root %s and the path %j", (text, root, path, optional) => {
    const { parts, errors } = parseTemplate(text);
    expect(errors).toEqual([]);
    expect(parts).toEqual([
      {
        kind: "reference",
        root,
        rootStart: text.indexOf(root),
        path,
        optional,
        start: 0,
        end: text.length,
      },
    ]);
  });

  it("has its position in the text", () => {
    const text = "Hello {{ trigger.name }}, {{ fetch.x? }}!";
    const { parts } = parseTemplate(text);
    expect(parts.map(({ start, end }) => text.slice(start, end))).toEqual([
      "Hello ",
      "{{ trigger.name }}",
      ", ",
      "{{ fetch.x? }}",
      "!",
    ]);
    for (const { rootStart, root } of references(text))
      expect(text.slice(rootStart, rootStart + root.length)).toBe(root);
  });

  it("is found in JSON text", () => {
    const { parts, errors } = parseTemplate('{"a":{"b":{{ trigger.x }}}}');
    expect(errors).toEqual([]);
    expect(parts.map((part) => (part.kind === "text" ? part.text : part.root))).toEqual([
      '{"a":{"b":',
      "trigger",
      "}}",
    ]);
  });
});

describe("text", () => {
  it.each([
    ["plain", "plain"],
    ["", ""],
    ["a { b } }} c", "a { b } }} c"],
    ["\\{{ not.a.reference }}", "{{ not.a.reference }}"],
    ["\\\\\\{{ x }}", "\\{{ x }}"],
    ["C:\\dir\\", "C:\\dir\\"],
  ])("%j is parsed as %j", (source, text) => {
    const { parts, errors } = parseTemplate(source);
    expect(errors).toEqual([]);
    expect(parts.map((part) => (part.kind === "text" ? part.text : "?")).join("")).toBe(text);
  });

  it("has one backslash for two backslashes before a reference", () => {
    const { parts } = parseTemplate("\\\\{{ x }}");
    expect(parts.map((part) => (part.kind === "text" ? part.text : part.root))).toEqual([
      "\\",
      "x",
    ]);
  });
});

describe("a syntax error", () => {
  it.each([
    ["{{ }}", 3, "expected a name such as trigger at character 3, but found }"],
    ["a {{ trigger.x", 14, "expected }} at character 14, but the text ends"],
    ["{{ a + b }}", 5, "expected }} at character 5, but found +"],
    ["{{ a..b }}", 4, "expected }} at character 4, but found ."],
    ["{{ a[x] }}", 4, "expected }} at character 4, but found ["],
    ["{{ 1a }}", 3, "expected a name such as trigger at character 3, but found 1"],
    ["{{{ a }}}", 2, "expected a name such as trigger at character 2, but found {"],
    ["{{ a.b?? }}", 7, "expected }} at character 7, but found ?"],
    ["{{ 🚂 }}", 3, "expected a name such as trigger at character 3, but found 🚂"],
  ])("in %s is reported with its position", (text, position, message) => {
    expect(parseTemplate(text).errors[0]).toEqual({ position, message });
  });

  it("does not affect the other references", () => {
    const { errors } = parseTemplate("{{ a.x }} {{ }} {{ b.y }}");
    expect(errors).toHaveLength(1);
    expect(references("{{ a.x }} {{ }} {{ b.y }}").map(({ root }) => root)).toEqual(["a", "b"]);
  });
});

describe("for any input", () => {
  const piece = fc.constantFrom(
    "{{",
    "}}",
    "{",
    "}",
    "\\",
    " ",
    "a",
    ".b",
    "[0]",
    '["k"]',
    "?",
    '"',
  );
  const hostile = fc.oneof(
    fc.string(),
    fc.array(piece).map((pieces) => pieces.join("")),
  );

  it("the parts are adjacent and cover the whole text", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        let at = 0;
        for (const { start, end } of parseTemplate(text).parts) {
          expect(start).toBe(at);
          expect(end).toBeGreaterThan(start);
          at = end;
        }
        expect(at).toBe(text.length);
      }),
    );
  });

  it("parsing a written reference returns the same reference", () => {
    const reference: fc.Arbitrary<Pick<Reference, "root" | "path">> = fc.record({
      root: fc.constantFrom("trigger", "fetch_2"),
      path: fc.array(fc.oneof(fc.string(), fc.nat(1000))),
    });
    fc.assert(
      fc.property(reference, (original) => {
        const [parsed] = references(`{{ ${writeReference(original)} }}`);
        expect(parsed?.root).toBe(original.root);
        expect(parsed?.path).toEqual(original.path);
      }),
    );
  });
});
