import type { Json } from "@signalbox/rules/json.ts";
import { LARGE_BYTES, LargeJson, type MaybeLarge } from "@signalbox/rules/large-json.ts";
import { expect, test } from "vitest";
import { loadPayload } from "../../events/sources/read-payload.ts";
import { createMask, MASK } from "../../kernel/lib/mask.ts";
import { createRunBudget, maskConfig, maskValue, parseLarge } from "./step-values.ts";

const SECRET = "s3cret-value-of-the-flow-0123456789";
const mask = createMask([SECRET]);
const budget = createRunBudget(64_000_000, 0);
/** Masks the value as an output, and as a part of a config. */
const maskBoth = (value: MaybeLarge) => {
  const results = [maskValue(mask, value, "output", budget), maskConfig(mask, { value }, budget)];
  return results.map((result) => ("value" in result ? result.value : result.error));
};

test("masks a payload with more bytes than characters", async () => {
  const json = { title: "あ".repeat(100_000), secret: SECRET };
  const body = new TextEncoder().encode(JSON.stringify(json));
  expect(body.byteLength).toBeGreaterThan(LARGE_BYTES);
  const evaluate = () => expect.unreachable();
  const payload = { content_type: "application/json", headers: {}, body };
  const loaded = await loadPayload(evaluate, { tenant: "acme", source: "github", payload });
  const expected = { ...json, secret: MASK };
  expect(maskBoth(loaded)).toEqual([expected, { value: expected }]);
});

test("masks a large value that becomes small, and can mask it again", () => {
  const items: Json = Array.from({ length: 10_000 }, () => SECRET);
  const [output] = maskBoth(items);
  const expected = items.map(() => MASK);
  expect(output).toEqual(expected);
  expect(maskBoth(output as MaybeLarge)).toEqual([expected, { value: expected }]);
});

test("keeps a large value as text", () => {
  const [output] = maskBoth({ secret: SECRET, list: Array(LARGE_BYTES).fill(0) });
  expect(output).toBeInstanceOf(LargeJson);
  expect((output as LargeJson).text.slice(0, 15)).toBe(`{"secret":"${MASK}"`);
});

test("counts the bytes of the JSON that is stored, with escapes", () => {
  for (const [character, bytes] of [
    ["\u0001", 6],
    ['"', 2],
    ["あ", 3],
  ] as const)
    for (const length of [900, 2_000, 1_000_000]) {
      const config = { value: character.repeat(length) };
      const stored = `{"value":""}`.length + length * bytes;
      expect(maskConfig(mask, config, createRunBudget(stored + 1, 0))).toHaveProperty("value");
      expect(maskConfig(mask, config, createRunBudget(stored - 1, 0))).toMatchObject({
        error: { code: "run_too_large" },
      });
    }
});

test.each<[string, Json]>([
  ["long texts", Array(6).fill("\u0001".repeat(300_000))],
  ["short texts", Array(2_000).fill("\u0001".repeat(700))],
  ["names", Array(3).fill({ ["あ".repeat(900_000)]: 1 })],
])("rejects an input that exceeds 8 MB because of escapes: %s", (_, value) => {
  expect(maskConfig(mask, { value }, budget)).toMatchObject({ error: { code: "input_too_large" } });
});

test("returns an error with the size, the remaining bytes and the setting", () => {
  const budget = createRunBudget(5_000_000, 1_000_000);
  expect(budget.reserve(3_950_000, "output")).toBeUndefined();
  expect(budget.reserve(4_200_000, "output")).toEqual({
    code: "run_too_large",
    message:
      "The output of the step has 4.2 MB of JSON, but the run may store only 50 kB more: " +
      "its limit is 5 MB for all steps. Return less, or raise SIGNALBOX_RUN_BYTES.",
  });
  // A smaller value still fits.
  expect(budget.reserve(50_000, "input")).toBeUndefined();
  expect(budget.reserve(1, "input")?.message).toContain("Pass less");
});

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
