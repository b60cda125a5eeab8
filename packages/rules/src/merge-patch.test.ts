import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject } from "./json.ts";
import { mergePatch } from "./merge-patch.ts";

/** The examples of RFC 7396, appendix A, whose target and patch are objects. */
it.each<[JsonObject, JsonObject, JsonObject]>([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("merges into the target %j the patch %j", (target, patch, merged) => {
  expect(mergePatch(target, patch)).toEqual(merged);
});

it("sets a member __proto__ as a property, not as the prototype", () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__":{"x":1}}'));
  expect(Object.keys(merged)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
});

it("is idempotent, and changes neither the target nor the patch", () => {
  const object = fc.dictionary(
    fc.constantFrom("a", "b", "c"),
    fc.jsonValue({ maxDepth: 3 }),
  ) as fc.Arbitrary<JsonObject>;
  fc.assert(
    fc.property(object, object, (target, patch) => {
      const before = JSON.stringify([target, patch]);
      const once = mergePatch(target, patch);
      expect(mergePatch(once, patch)).toEqual(once);
      expect(JSON.stringify([target, patch])).toBe(before);
    }),
  );
});
