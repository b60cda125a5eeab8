import type { Json } from "@signalbox/rules/json.ts";
import { LARGE_BYTES, LargeJson, type MaybeLarge } from "@signalbox/rules/large-json.ts";
import { expect, test } from "vitest";
import { loadPayload } from "../ingest/sources/load-payload.ts";
import { createMask, MASK } from "../lib/mask.ts";
import { maskConfig, maskValue } from "./mask-value.ts";
import { createRunBudget } from "./run-budget.ts";

const SECRET = "s3cret-value-of-the-flow-0123456789";
const mask = createMask([SECRET]);
const budget = createRunBudget(64_000_000, 0);
const masked = (value: MaybeLarge) => {
  const all = [maskValue(mask, value, "output", budget), maskConfig(mask, { value }, budget)];
  return all.map((one) => ("value" in one ? one.value : one.error));
};

test("masks a payload with more bytes than characters", async () => {
  const json = { title: "あ".repeat(100_000), secret: SECRET };
  const body = new TextEncoder().encode(JSON.stringify(json));
  expect(body.byteLength).toBeGreaterThan(LARGE_BYTES);
  const evaluate = () => expect.unreachable();
  const payload = { content_type: "application/json", headers: {}, body };
  const loaded = await loadPayload(evaluate, { tenant: "acme", source: "github", payload });
  const expected = { ...json, secret: MASK };
  expect(masked(loaded)).toEqual([expected, { value: expected }]);
});

test("masks again a large value that masking made small", () => {
  const items: Json = Array.from({ length: 10_000 }, () => SECRET);
  const [output] = masked(items);
  const expected = items.map(() => MASK);
  expect(output).toEqual(expected);
  expect(masked(output as MaybeLarge)).toEqual([expected, { value: expected }]);
});

test("keeps a large value as text", () => {
  const [output] = masked({ secret: SECRET, list: Array(LARGE_BYTES).fill(0) });
  expect(output).toBeInstanceOf(LargeJson);
  expect((output as LargeJson).text.slice(0, 15)).toBe(`{"secret":"${MASK}"`);
});
