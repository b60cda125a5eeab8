import { expect, it } from "vitest";
import { assertNoNulInParameters, parseJson } from "./parse-json.ts";

const nestedArrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

it("rejects U+0000 and too much nesting", () => {
  expect(() => parseJson('{"a":[{"b":"x\\u0000"}]}', "body")).toThrow("U+0000");
  expect(() => parseJson('{"a\\u0000":1}', "body")).toThrow("U+0000");
  expect(parseJson('{"a":"\\\\u0000"}', "body")).toEqual({ a: "\\u0000" });
  expect(() => assertNoNulInParameters({ a: "x", b: "\0" })).toThrow("U+0000");
  expect(() => parseJson(nestedArrays(101), "body")).not.toThrow();
  expect(() => parseJson(nestedArrays(102), "body")).toThrow("nested deeper than 100");
  expect(() => parseJson(nestedArrays(40_000), "body")).toThrow("nested deeper than 100");
});

it("rejects JSON with too many values before parsing it", () => {
  const objects = (count: number) => `[${"{},".repeat(count - 1)}{}]`;
  expect(parseJson(objects(9), "body", 10)).toHaveLength(9);
  expect(() => parseJson(objects(10), "body", 10)).toThrow("has more than 10 values");
  // These objects would take about 200 MB after parsing.
  const before = process.memoryUsage().heapUsed;
  expect(() => parseJson(objects(2_300_000), "body")).toThrow("has more than 50000 values");
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
  expect(() => parseJson(nestedArrays(1_000_000), "body")).toThrow("has more than 50000 values");
});

it("rejects an object with too many fields", () => {
  const fields = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 0])));
  expect(() => parseJson(`[${fields(10_000)}]`, "body")).not.toThrow();
  expect(() => parseJson(`[${fields(10_001)}]`, "body")).toThrow("an object with 10001 fields");
});
