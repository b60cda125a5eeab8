import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Json } from "./json.ts";
import { LARGE_BYTES, LargeJson } from "./large-json.ts";
import { writeShared } from "./write-shared.ts";

test("writes any JSON like JSON.stringify", () => {
  const long = "\u2028ü\n".repeat(LARGE_BYTES / 4);
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      const value = { json, list: [json, { long, none: undefined }, long], again: json } as Json;
      expect(writeShared(value)).toBe(JSON.stringify(value));
    }),
    { numRuns: 20 },
  );
});

test("serializes a value only once if it occurs several times", () => {
  const list = Array.from({ length: 85_000 }, () => []);
  const text = "x".repeat(250_000);
  const value = {
    lists: Array.from({ length: 30 }, () => ({ list })),
    texts: Array(30).fill(text),
  };
  const expected = JSON.stringify(value);
  const stringify = vi.spyOn(JSON, "stringify");
  const written = writeShared(value);
  const characters = stringify.mock.results.reduce((sum, { value }) => sum + value.length, 0);
  stringify.mockRestore();
  expect(written === expected).toBe(true);
  expect(characters).toBeLessThan(800_000);
});

test("copies the text of large JSON", () => {
  const large = new LargeJson(`[ "${"x".repeat(LARGE_BYTES)}" ]`);
  expect(writeShared({ a: [large, 1] })).toBe(`{"a":[${large.text},1]}`);
});
