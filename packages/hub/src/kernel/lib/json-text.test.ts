import fc from "fast-check";
import { expect, it } from "vitest";
import { memberRange, toByteRanges } from "./json-text.ts";

function member(text: string, name = "data"): string | undefined {
  const range = memberRange(text, name);
  return range && text.slice(range.start, range.end);
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
])("finds the member data of %s: %s", (text, expected) => {
  expect(member(text)).toBe(expected);
});

it("finds the same value as JSON.parse", () => {
  const name = fc.oneof(fc.constantFrom("data", "type", '"', "\\", "{"), fc.string());
  const object = fc.dictionary(name, fc.jsonValue(), { noNullPrototype: true });
  const spaces = fc.constantFrom(undefined, 2, "\t");
  fc.assert(
    fc.property(object, spaces, fc.jsonValue(), (others, indent, data) => {
      const text = JSON.stringify({ ...others, data }, undefined, indent);
      expect(JSON.parse(member(text) ?? "")).toEqual(JSON.parse(text).data);
    }),
  );
});

it.each(["", "\ufeff"])("converts ranges of a text to ranges of its bytes after %j", (mark) => {
  const anyWord = fc.string({ unit: "grapheme" });
  fc.assert(
    fc.property(fc.array(anyWord), (words) => {
      const text = words.join("");
      let end = 0;
      const ranges = words.map((word) => {
        const start = end;
        end += word.length;
        return { start, end };
      });
      const bytes = Buffer.from(mark + text);
      const byteRanges = toByteRanges(ranges, text, bytes);
      expect(byteRanges.map(({ start, end }) => bytes.subarray(start, end).toString())).toEqual(
        words,
      );
    }),
  );
});
