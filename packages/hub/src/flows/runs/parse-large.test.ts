import { LARGE_BYTES, LargeJson } from "@signalbox/rules/large-json.ts";
import { expect, test } from "vitest";
import { parseLarge } from "./parse-large.ts";

const list = (values: number, value = "0") =>
  new LargeJson(
    `[${Array(values - 1)
      .fill(value.padEnd(6))
      .join()}]`,
  );

test("parses large values anywhere in a config", () => {
  const large = list(50_000);
  expect(large.length).toBeGreaterThan(LARGE_BYTES);
  const items = JSON.parse(large.text);
  expect(parseLarge({ a: [large], b: { c: large, d: 1 } })).toEqual({
    a: [items],
    b: { c: items, d: 1 },
  });
});

test("limits the values and the size of all large values together", () => {
  expect(() => parseLarge({ a: list(50_000, "1"), b: list(49_999, "2") })).not.toThrow();
  const tooLarge = { code: "input_too_large" };
  expect(() => parseLarge({ a: list(50_000, "1"), b: list(51_000, "2") })).toThrow(
    expect.objectContaining(tooLarge),
  );
  const texts = [1, 2].map((digit) => new LargeJson(`{"a":"${`${digit}`.repeat(4_000_000)}"}`));
  expect(() => parseLarge(texts)).toThrow(expect.objectContaining(tooLarge));
});
