import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "./json.ts";
import { jsonBytes } from "./json-bytes.ts";
import { LargeJson } from "./large-json.ts";

const bytesOf = (value: Json): number => new TextEncoder().encode(JSON.stringify(value)).byteLength;

test("measures the JSON of any value in bytes, including escapes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (generated) => {
      const value = generated as Json;
      // `jsonBytes` counts one comma too many in each array and object.
      const containers = JSON.stringify(value).match(/[[{]/g)?.length ?? 0;
      const measured = jsonBytes(value, Infinity);
      expect(measured).toBeGreaterThanOrEqual(bytesOf(value));
      expect(measured).toBeLessThanOrEqual(bytesOf(value) + containers);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 20 }), (text) => {
      for (const value of [text, text.repeat(1_000)])
        expect(jsonBytes(value, Infinity)).toBe(bytesOf(value));
    }),
  );
  for (const text of ["\u0001", "\n", '"', "\\", "ü", "あ", "🚂", "\ud83d", "\ude82\ud83d"])
    expect(jsonBytes(text, Infinity)).toBe(bytesOf(text));
  expect(jsonBytes(new LargeJson(`["${"ü".repeat(9)}"]`), Infinity)).toBe(22);
});

test("stops when the size exceeds the maximum", () => {
  const large = Array.from({ length: 1_000_000 }, () => ({}));
  const many = Array.from({ length: 1_000 }, () => large);
  const startedAt = performance.now();
  const bytes = jsonBytes({ many }, 16_000_000);
  expect(bytes).toBeGreaterThan(16_000_000);
  expect(bytes).toBeLessThan(20_000_000);
  // Measuring the whole value would take minutes.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test("measures a value only once if it occurs several times", () => {
  let reads = 0;
  const value = new Proxy(Array<Json>(1_000).fill("x"), {
    get: (list, name) => {
      reads += 1;
      return Reflect.get(list, name);
    },
  });
  const text = "ü".repeat(2_000);
  const bytes = jsonBytes(Array<Json>(100).fill({ value, text }), Infinity);
  expect(bytes).toBeGreaterThan(100 * (4_000 + 4_000));
  expect(reads).toBeLessThan(3_000);
});
