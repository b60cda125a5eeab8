import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  hasMoreValues,
  isTextDeeperThan,
  mapScalars,
  memberRange,
  toByteRanges,
} from "./json-text.ts";
import { DEFAULT_BODY_LIMITS } from "./limits.ts";

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

function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + countValues(inner), 1);
}

it("counts every value of JSON, whatever strings and whitespace it has", () => {
  const json = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 2, "\t"));
  fc.assert(
    fc.property(json, ([value, indent]) => {
      const text = JSON.stringify(value, null, indent);
      const parsed: unknown = JSON.parse(text);
      const count = countValues(parsed);
      expect(hasMoreValues(text, count)).toBe(false);
      // A shorter text is not scanned.
      if (count > 1 && text.length > 2 * (count - 1))
        expect(hasMoreValues(text, count - 1)).toBe(true);
    }),
  );
  expect(hasMoreValues(String.raw`["\\",",,,\",[[["]`, 3)).toBe(false);
  expect(hasMoreValues(String.raw`["\\",",,,\",[[["]`, 2)).toBe(true);
});

it("allows a webhook of 25 MiB of small commits by default", () => {
  const commit = `{"id":"${"a".repeat(40)}","message":"Fix","author":{"name":"A","email":"a@b.c"},"added":["a.ts"],"removed":[],"modified":["b.ts","c.ts"]},`;
  const text = `{"commits":[${commit.repeat((25 * 1024 * 1024) / commit.length)}{}]}`;
  expect(hasMoreValues(text, DEFAULT_BODY_LIMITS.webhookValues)).toBe(false);
});

it("stops reading the text when the limit is exceeded", () => {
  const text = `[${"{},".repeat(2_000_000)}{}]`;
  let charactersRead = 0;
  const observedText = {
    length: text.length,
    charCodeAt(at: number) {
      charactersRead += 1;
      return text.charCodeAt(at);
    },
  };
  expect(hasMoreValues(observedText as string, 50_000)).toBe(true);
  expect(charactersRead).toBeLessThan(5 * 50_000);
});

it("detects JSON that is nested deeper than the limit", () => {
  const json = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 2), fc.nat(6));
  fc.assert(
    fc.property(json, ([value, indent, depth]) => {
      const text = JSON.stringify(value, null, indent);
      expect(isTextDeeperThan(depth, text)).toBe(isDeeperThan(depth, JSON.parse(text)));
    }),
  );
  expect(isTextDeeperThan(1, '[[ ], "[[["]')).toBe(false);
  expect(isTextDeeperThan(1, "[[ 1 ]]")).toBe(true);
});

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
