import { expect, test } from "vitest";
import type { Json } from "./json.ts";
import { jsonBytes } from "./json-bytes.ts";

test("estimates the size of a value as JSON", () => {
  const values: Json[] = [
    null,
    true,
    12.5,
    "text",
    [],
    {},
    [1, 2, 3],
    { a: { b: ["x", null] }, c: "ü".repeat(2_000) },
  ];
  for (const value of values) {
    const bytes = new TextEncoder().encode(JSON.stringify(value)).byteLength;
    expect(Math.abs(jsonBytes(value, Infinity) - bytes)).toBeLessThanOrEqual(8);
  }
});

test("stops when the size exceeds the maximum", () => {
  const large = Array.from({ length: 1_000_000 }, () => ({}));
  const many = Array.from({ length: 1_000 }, () => large);
  const startedAt = performance.now();
  const bytes = jsonBytes({ many }, 16_000_000);
  expect(bytes).toBeGreaterThan(16_000_000);
  expect(bytes).toBeLessThan(20_000_000);
  // All of it would take minutes.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test("measures a value once that occurs often", () => {
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
