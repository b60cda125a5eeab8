import fc from "fast-check";
import { expect, it } from "vitest";
import { memberRange, toByteRanges } from "./json-text.ts";

function member(text: string, name = "data"): string | undefined {
  const found = memberRange(text, name);
  return found && text.slice(found.start, found.end);
}

it.each([
  ['{"data":{"a":1}}', '{"a":1}'],
  ['{"type":"x","data":{"a":[1,{"b":"}"}]},"id":"1"}', '{"a":[1,{"b":"}"}]}'],
  ['\n{ "x" : null , "data" : { } }\n', "{ }"],
  ['{"data":1.50e+2,"x":[]}', "1.50e+2"],
  ['{"data":true}', "true"],
  ['{"data":"a\\"b\\\\","x":"\\\\"}', '"a\\"b\\\\"'],
  ['{"data":{"a":1},"data":{"b":2}}', '{"b":2}'],
  ['{"d\\u0061ta":[9007199254740993]}', "[9007199254740993]"],
  ['{"x":{"data":1}}', undefined],
  ['{"dat":1,"database":2,"":3}', undefined],
  [" { } ", undefined],
])("finds a member in %s", (text, expected) => {
  expect(member(text)).toBe(expected);
});

it("finds the same value as JSON.parse", () => {
  const name = fc.oneof(fc.constantFrom("data", "type", '"', "\\", "{"), fc.string());
  const object = fc.dictionary(name, fc.jsonValue(), { noNullPrototype: true });
  const spaces = fc.constantFrom(undefined, 2, "\t");
  fc.assert(
    fc.property(object, spaces, fc.jsonValue(), (rest, indent, data) => {
      const text = JSON.stringify({ ...rest, data }, undefined, indent);
      expect(JSON.parse(member(text) ?? "")).toEqual(JSON.parse(text).data);
    }),
  );
});

it.each(["", "\ufeff"])("converts ranges of a text to ranges of its bytes after %j", (mark) => {
  const word = fc.string({ unit: "grapheme" });
  fc.assert(
    fc.property(fc.array(word), (words) => {
      const text = words.join("");
      let end = 0;
      const ranges = words.map((one) => {
        const start = end;
        end += one.length;
        return { start, end };
      });
      const bytes = Buffer.from(mark + text);
      const found = toByteRanges(ranges, text, bytes);
      expect(found.map((one) => bytes.subarray(one.start, one.end).toString())).toEqual(words);
    }),
  );
});
