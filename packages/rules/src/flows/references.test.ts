import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { referencesIn, renameReferences, templatesIn } from "./references.ts";
import { writeReference } from "./template.ts";

describe("references in parameters", () => {
  const value = {
    url: "https://x/{{ fetch.id }}?q={{ trigger.q? }}",
    list: ["{{ item }}", 7, null, { deep: "{{ a.b" }],
    code: "{{ fetch.x }}",
    "{{ key.x }}": "keys are not templates",
  };

  it("are found in all strings except skipped fields, with the syntax errors", () => {
    const { references, errors } = templatesIn(value, (keys) => keys[0] === "code");
    expect(
      references.map((reference) => [reference.keys.join("/"), writeReference(reference)]),
    ).toEqual([
      ["url", "fetch.id"],
      ["url", "trigger.q"],
      ["list/0", "item"],
    ]);
    expect(errors).toMatchObject([{ keys: ["list", 3, "deep"], position: 6 }]);
  });
});

describe("a rename", () => {
  it.each([
    ["{{ old.x }}", "{{ new.x }}"],
    ["{{old}}{{  old [0] }}", "{{new}}{{  old [0] }}"],
    [
      "{{ old.old.x }} old {{ older.x }} {{ x.old }}",
      "{{ new.old.x }} old {{ older.x }} {{ x.old }}",
    ],
    ['{{ old["old"]? }}', '{{ new["old"]? }}'],
    ["\\{{ old.x }} \\\\{{ old.x }}", "\\{{ old.x }} \\\\{{ new.x }}"],
    ["{{ broken {{ old.x }}", "{{ broken {{ new.x }}"],
    ["{{ OLD.x }}", "{{ OLD.x }}"],
    ["old.x", "old.x"],
  ])("changes %s to %s", (before, after) => {
    expect(renameReferences(before, "old", "new")).toBe(after);
  });

  it("keeps an own property __proto__", () => {
    const value = JSON.parse('{"__proto__":"{{ old.x }}","a":1}') as Json;
    expect(JSON.stringify(renameReferences(value, "old", "new"))).toBe(
      '{"__proto__":"{{ new.x }}","a":1}',
    );
  });

  it("does not change skipped fields, and returns unchanged values by identity", () => {
    const value = { code: "{{ old.x }}", rest: { a: "{{ other.x }}" }, text: "{{ old.x }}" };
    const renamed = renameReferences(value, "old", "new", ([first]) => first === "code");
    expect(renamed).toEqual({ ...value, text: "{{ new.x }}" });
    expect((renamed as typeof value).rest).toBe(value.rest);
  });

  const piece = fc.constantFrom(
    "{{",
    "}}",
    " ",
    "\\",
    "old",
    "new",
    "x",
    ".x",
    "[0]",
    '["old"]',
    "?",
    "é",
    "\n",
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
    fc.string(),
  );
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.constantFrom<Json>(null, true, 7),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(text, fc.constant("__proto__")), tie("value"), { maxKeys: 4 }),
    ),
  }));

  it("changes only the root of references", () => {
    fc.assert(
      fc.property(value, (before) => {
        // No generated text contains this name, so the reverse rename must restore the original.
        const after = renameReferences(before, "old", "fresh_one");
        expect(JSON.stringify(renameReferences(after, "fresh_one", "old"))).toBe(
          JSON.stringify(before),
        );
        const references = referencesIn(before).map(writeReference);
        expect(referencesIn(after).map(writeReference)).toEqual(
          references.map((reference) => reference.replace(/^old(?=[.[]|$)/, "fresh_one")),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("to the same name changes nothing", () => {
    fc.assert(
      fc.property(value, (before) => {
        expect(renameReferences(before, "old", "old")).toBe(before);
      }),
    );
  });
});
