import { expect, it } from "vitest";
import {
  LARGE_BYTES,
  LargeJson,
  type MixedJson,
  parseUnlessLarge,
  writeJson,
} from "./large-json.ts";

it("parses JSON unless it is large", () => {
  expect(parseUnlessLarge('{"a":1}')).toEqual({ a: 1 });
  const string = "x".repeat(LARGE_BYTES);
  expect(parseUnlessLarge(JSON.stringify(string))).toBe(string);
  const text = JSON.stringify([string]);
  const large = parseUnlessLarge(text) as LargeJson;
  expect(large).toBeInstanceOf(LargeJson);
  expect(large.text).toBe(text);
  expect(large).toHaveLength(text.length);
});

it("copies the text of large values at any level", () => {
  const large = new LargeJson('{"not": [ "parsed" ]}');
  const value = {
    trigger: large,
    nodes: { 'a"b': large, list: [1, large, null] },
    item: undefined,
    text: 'say "hi"\n',
    ["__proto__"]: 3,
  };
  expect(writeJson(value)).toBe(
    '{"trigger":{"not": [ "parsed" ]},"nodes":{"a\\"b":{"not": [ "parsed" ]},"list":[1,{"not": [ "parsed" ]},null]},"text":"say \\"hi\\"\\n","__proto__":3}',
  );
  expect(writeJson(large)).toBe(large.text);
  expect(writeJson([undefined, large] as MixedJson)).toBe(`[null,${large.text}]`);
  expect(writeJson({ a: [1, "b"], c: undefined })).toBe('{"a":[1,"b"]}');
});

it("makes JSON.stringify throw, so that large JSON is not written by accident", () => {
  expect(() => JSON.stringify({ a: new LargeJson("[]") })).toThrow("writeJson");
});
