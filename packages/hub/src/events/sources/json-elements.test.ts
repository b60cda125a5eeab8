import fc from "fast-check";
import { expect, it } from "vitest";
import * as elements from "./json-elements.ts";

const jsonElements = (text: string) =>
  elements.jsonElements(text).map(({ start, end }) => text.slice(start, end));

it("splits an array into the elements that a parser finds", () => {
  const space = fc.constantFrom("", " ", "\n\t");
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), space, fc.nat(2), (values, gap, indent) => {
      const text = `${gap}[${values.map((value) => gap + JSON.stringify(value, null, indent) + gap).join(",")}]${gap}`;
      expect(jsonElements(text).map((element) => JSON.parse(element))).toEqual(JSON.parse(text));
    }),
  );
});

it("preserves numbers that a parser would change", () => {
  expect(
    jsonElements('[ {"n": 12345678901234567890, "x":1.0}, "a,]\\"\\\\", [1,[2]] ,-0]'),
  ).toEqual(['{"n": 12345678901234567890, "x":1.0}', '"a,]\\"\\\\"', "[1,[2]]", "-0"]);
});

it.each(["[]", " [ \n ] "])("returns an empty list for %j", (text) => {
  expect(jsonElements(text)).toEqual([]);
});
