import { expect, it } from "vitest";
import {
  joinText,
  joinValue,
  MAX_TEXT_BYTES,
  nextRange,
  PART_BYTES,
  type ValuePart,
} from "./value-parts.ts";

const partsOf = (text: string, length: number): ValuePart[] => {
  const bytes = new TextEncoder().encode(text);
  const parts: ValuePart[] = [];
  for (let at = 0; at < bytes.length; at += length)
    parts.push({ bytes: bytes.slice(at, at + length), size: bytes.length });
  return parts;
};

it("joins parts that cut characters in two", () => {
  const text = JSON.stringify({ name: "Grüße 🚂" });
  for (let length = 1; length < 9; length += 1) expect(joinText(partsOf(text, length))).toBe(text);
  expect(joinText(partsOf('"🚂"', 3).slice(0, 1))).toBe('"');
});

it("is a value when all of it is there", () => {
  const parts = partsOf("[1,2,3]", 3);
  expect(joinValue(parts)).toEqual({ value: [1, 2, 3] });
  expect(joinValue(parts.slice(0, 2))).toBeUndefined();
  expect(joinValue([])).toBeUndefined();
});

it("asks for one part after the other, up to a limit", () => {
  expect(nextRange([])).toEqual([0, PART_BYTES - 1]);
  const part = { bytes: new Uint8Array(PART_BYTES), size: 10 * MAX_TEXT_BYTES };
  expect(nextRange([part])).toEqual([PART_BYTES, 2 * PART_BYTES - 1]);
  expect(nextRange([{ ...part, size: PART_BYTES }])).toBeUndefined();
  expect(nextRange(Array(MAX_TEXT_BYTES / PART_BYTES).fill(part))).toBeUndefined();
});
