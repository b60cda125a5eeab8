import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Json } from "../json.ts";
import { LargeJson } from "../large-json.ts";
import { Permanent } from "./errors.ts";
import { defineNode, type Scope } from "./node-type.ts";
import { type FindSelected, type LargeReference, renderConfig, renderTemplate } from "./render.ts";
import { parseTemplate } from "./template.ts";

const scope: Scope = {
  trigger: { city: "Bern", days: 3, wet: false },
  nodes: {
    fetch: { items: [{ name: "a" }, { name: "b" }], note: null, "key with spaces": 1, "0": "zero" },
  },
};
const render = (text: string, within: Scope = scope) => renderTemplate(parseTemplate(text), within);
const thrownBy = (call: () => unknown): Permanent => {
  try {
    call();
  } catch (error) {
    if (error instanceof Permanent) return error;
    throw error;
  }
  throw new Error("did not fail");
};

describe("a template", () => {
  it.each<[string, Json]>([
    ["{{ trigger.days }}", 3],
    ["{{ trigger.wet }}", false],
    ["{{ fetch.items }}", [{ name: "a" }, { name: "b" }]],
    ["{{ fetch.items[1].name }}", "b"],
    ["{{ fetch.items.1.name }}", "b"],
    ["{{ fetch.note }}", null],
    ['{{ fetch["key with spaces"] }}', 1],
    ["{{ trigger.missing? }}", null],
    ["{{ missing.entirely? }}", null],
    ["{{ trigger.city }} in {{ trigger.days }} days", "Bern in 3 days"],
    [" {{ trigger.days }}", " 3"],
    ["items: {{ fetch.items }}", 'items: [{"name":"a"},{"name":"b"}]'],
    ["note: {{ fetch.note }}", "note: null"],
    ["gone: [{{ trigger.missing? }}]", "gone: []"],
    ["\\{{ trigger.city }}", "{{ trigger.city }}"],
    ["", ""],
  ])("%s is rendered as %j", (text, value) => {
    expect(render(text)).toEqual(value);
  });

  it.each([
    ["{{ trigger.missing }}", "trigger.missing", "{{ trigger.missing }} has no value."],
    ["x {{ fetch.items[2].name }}", "fetch.items[2].name", "there is no fetch.items[2]."],
    ["{{ other.x.y }}", "other.x.y", "there is no other."],
    ["{{ trigger.city.length }}", "trigger.city.length", "has no value"],
    ["{{ fetch.note.x }}", "fetch.note.x", "has no value"],
  ])("%s throws an error with the path %s", (text, path, message) => {
    const error = thrownBy(() => render(text));
    expect(error.code).toBe("unresolved_reference");
    expect(error.details).toEqual({ path });
    expect(error.message).toContain(message);
  });

  it.each(["trigger", "fetch.items", "fetch"])("cannot read inherited members of %s", (root) => {
    for (const name of ["__proto__", "constructor", "toString", "length", "hasOwnProperty"])
      expect(render(`{{ ${root}.${name}? }}`)).toBeNull();
    for (const name of ["__proto__", "constructor", "toString"])
      expect(render(`{{ ${name}? }}`)).toBeNull();
  });

  it("can read an own property __proto__", () => {
    expect(
      render("{{ trigger.__proto__ }}", { trigger: JSON.parse('{"__proto__": 1}'), nodes: {} }),
    ).toBe(1);
  });

  it("throws if it has a syntax error", () => {
    expect(thrownBy(() => render("{{ }}"))).toMatchObject({ code: "template_syntax" });
  });

  it("that is a single reference keeps the type of the value; other templates return a string", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(render("{{ x }}", { nodes: { x: value as Json } })).toBe(value);
        expect(render("a{{ x }}", { nodes: { x: value as Json } })).toBe(
          `a${typeof value === "string" ? value : JSON.stringify(value)}`,
        );
      }),
    );
  });
});

describe("a node's config", () => {
  const request = defineNode({
    type: "Request",
    title: "Request",
    description: "",
    icon: "Globe",
    kind: "action",
    config: z.object({}),
    ports: { in: ["in"], out: ["out"] },
    secretFields: ["headers[].value", "auth"],
    rawFields: ["code"],
    sample: { config: {}, result: { output: null }, rejects: { config: {}, path: "" } },
  });
  const secrets = { KEY: "hush" };

  it("is rendered everywhere except in code", () => {
    const config = {
      url: "https://x/{{ trigger.city }}",
      code: "{{ trigger.city }}",
      headers: [{ name: "A", value: "Bearer {{ secrets.KEY }}" }],
      auth: { deep: ["{{ secrets.KEY }}"] },
      days: "{{ trigger.days }}",
      plain: 7,
    };
    expect(renderConfig(config, request, scope, secrets)).toEqual({
      url: "https://x/Bern",
      code: "{{ trigger.city }}",
      headers: [{ name: "A", value: "Bearer hush" }],
      auth: { deep: ["hush"] },
      days: 3,
      plain: 7,
    });
  });

  it.each([{ url: "{{ secrets.KEY }}" }, { headers: [{ name: "{{ secrets.KEY? }}" }] }])(
    "cannot use secrets in %j",
    (config) => {
      const error = thrownBy(() => renderConfig(config, request, scope, secrets));
      expect(error.code).toBe("secret_not_allowed");
      expect(error.message).not.toContain("hush");
    },
  );

  it("cannot read secrets through the trigger, nor inherited members of the secrets", () => {
    const config = { url: "{{ trigger.secrets.KEY? }}", auth: "{{ secrets.constructor? }}" };
    expect(renderConfig(config, request, scope, secrets)).toEqual({ url: null, auth: null });
  });

  it("throws an error with the field of a reference without a value", () => {
    const error = thrownBy(() => renderConfig({ a: [{ b: "{{ x.y }}" }] }, request, scope, {}));
    expect(error.message).toBe("a[0].b: {{ x.y }} has no value: there is no x.");
    expect(error.code).toBe("unresolved_reference");
  });
});

describe("large values", () => {
  const large = new LargeJson('{"list":[1,{"a":2}]}');
  const values: Scope = { trigger: { id: "e", data: large }, nodes: { fetch: large } };
  const render = (source: string, findSelected?: FindSelected, within = values) =>
    renderTemplate(parseTemplate(source), within, {}, findSelected);

  it("are returned unparsed by a single reference, and copied into text", () => {
    expect(render("{{ fetch }}")).toBe(large);
    expect(render("{{ trigger }}")).toBe(values.trigger);
    expect(render("{{ trigger.id }}: {{ trigger.data }}")).toBe(`e: ${large.text}`);
  });

  it("are read with findSelected, and are null while findSelected returns undefined", () => {
    const requested: LargeReference[] = [];
    const findNothing: FindSelected = (reference) => void requested.push(reference);
    expect(render("{{ trigger.data.list[1].a }}", findNothing)).toBeNull();
    expect(requested).toEqual([{ large, path: ["list", 1, "a"] }]);
    expect(render("{{ fetch.list[1].a }}", () => ({ value: 2, reached: 3 }))).toBe(2);
    const missing = () => render("{{ fetch.list[2].a }}", () => ({ value: undefined, reached: 2 }));
    expect(thrownBy(missing).message).toBe(
      "{{ fetch.list[2].a }} has no value: there is no fetch.list[2].",
    );
  });

  it("are rejected before a text is built from them if they exceed the limit", () => {
    const long = new LargeJson(`["${"x".repeat(1_000_000)}"]`);
    const source = "{{ a }}".repeat(100_000);
    const error = thrownBy(() => renderTemplate(parseTemplate(source), { nodes: { a: long } }));
    expect(error.code).toBe("input_too_large");
    expect(error.message).toBe("The text exceeds the limit of 8 MB at {{ a }}. Insert less data.");
  });

  it("are rejected if all texts of a config together exceed the limit", () => {
    const text = "x".repeat(250_000);
    const config = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`f${index}`, "-{{ a }}"]),
    );
    const noFields = { secretFields: [], rawFields: [] };
    const error = thrownBy(() => renderConfig(config, noFields, { nodes: { a: text } }, {}));
    expect(error.message).toBe(
      "f31: The text exceeds the limit of 8 MB at {{ a }}. Insert less data.",
    );
  });

  it("are serialized only once for many references", () => {
    const list = Array.from({ length: 85_000 }, () => []);
    const stringify = vi.spyOn(JSON, "stringify");
    const rendered = render("{{ a }} ".repeat(30), undefined, { nodes: { a: list } });
    expect(stringify).toHaveBeenCalledTimes(1);
    stringify.mockRestore();
    expect(rendered).toHaveLength(30 * (3 * 85_000 + 2));
  });
});
