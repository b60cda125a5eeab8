import fc from "fast-check";
import { expect, it } from "vitest";
import { mapScalars } from "./json-text.ts";

it("visits every string, member name and number, and nothing else", () => {
  const visited: string[] = [];
  const text = String.raw`{"a\"b": [ -1.5e+3, "c\\", true, null ,{}],"":0}`;
  const changed = mapScalars(text, (scalar) => {
    visited.push(scalar);
    return scalar === "0" ? '"zero"' : scalar;
  });
  expect(visited).toEqual([String.raw`"a\"b"`, "-1.5e+3", String.raw`"c\\"`, '""', "0"]);
  expect(changed).toBe(text.replace(":0", ':"zero"'));
});

it("returns the same text if no scalar changes", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(mapScalars(text, (scalar) => JSON.stringify(JSON.parse(scalar)))).toBe(text);
    }),
  );
});
