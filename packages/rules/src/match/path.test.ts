import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { isWithin, parsePath, valuesAt } from "./path.ts";

const data: Json = {
  issue: { title: "Lamp", labels: [{ name: "red" }, { name: "bug" }, {}] },
  "odd.name": { 'a"b': 1 },
  list: [[1, 2], [3]],
  nothing: null,
};
const readValues = (text: string) => {
  const path = parsePath(text);
  return path && valuesAt(data, path);
};

describe("a path", () => {
  it.each([
    ["issue.title", ["Lamp"]],
    ["issue.labels[].name", ["red", "bug"]],
    ["issue.labels[1].name", ["bug"]],
    ["issue.labels[9].name", []],
    ["list[][]", [1, 2, 3]],
    ["list[0][1]", [2]],
    ['["odd.name"]["a\\"b"]', [1]],
    ["nothing", [null]],
    ["nothing.more", []],
    ["issue.title.length", []],
    ["issue.constructor", []],
    ["__proto__", []],
  ])("%s has the values %j", (path, values) => expect(readValues(path)).toEqual(values));

  it.each(["", ".", "a..b", "a.", "a[", "a[x]", "a[-1]", "a]b", '["open'])("cannot be %j", (text) =>
    expect(parsePath(text)).toBeUndefined(),
  );

  it("can contain any name if it is quoted", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer(), (name, value) => {
        const quoted = `["${name.replaceAll(/["\\]/g, "\\$&")}"]`;
        const path = parsePath(quoted);
        expect(path && valuesAt(Object.fromEntries([[name, value]]), path)).toEqual([value]);
      }),
    );
  });

  it("is parsed and followed without an exception, for any text and value", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (text, value) => {
        const path = parsePath(text);
        if (path) valuesAt(value as Json, path);
      }),
    );
  });
});

it.each([
  ["headers", ["headers"], true],
  ["headers", ["headers", 0, "value"], true],
  ["headers[].value", ["headers", 0, "value"], true],
  ["headers[].value", ["headers", "x", "value"], false],
  ["headers[].value", ["headers", 0], false],
  ["headers[0]", ["headers", 0], true],
  ["headers[0]", ["headers", 1], false],
  ["auth.token", ["auth", "user"], false],
])("isWithin returns for the path %s and the location %j: %s", (text, keys, isInside) => {
  expect(isWithin(keys, parsePath(text) ?? [])).toBe(isInside);
});
