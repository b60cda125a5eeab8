import { expect, it } from "vitest";
import {
  CHUNK_BYTES,
  joinText,
  joinValue,
  MAX_TEXT_BYTES,
  nextRange,
  type ValueChunk,
} from "./value-chunks.ts";

const chunksOf = (text: string, length: number): ValueChunk[] => {
  const bytes = new TextEncoder().encode(text);
  const chunks: ValueChunk[] = [];
  for (let start = 0; start < bytes.length; start += length)
    chunks.push({ bytes: bytes.slice(start, start + length), size: bytes.length });
  return chunks;
};

it("joins chunks that split characters", () => {
  const text = JSON.stringify({ name: "Grüße 🚂" });
  for (let length = 1; length < 9; length += 1) expect(joinText(chunksOf(text, length))).toBe(text);
  expect(joinText(chunksOf('"🚂"', 3).slice(0, 1))).toBe('"');
});

it("parses the value when all chunks are loaded", () => {
  const chunks = chunksOf("[1,2,3]", 3);
  expect(joinValue(chunks)).toEqual({ value: [1, 2, 3] });
  expect(joinValue(chunks.slice(0, 2))).toBeUndefined();
  expect(joinValue([])).toBeUndefined();
});

it("returns the range of the next chunk, up to the end of the value or the limit", () => {
  expect(nextRange([])).toEqual([0, CHUNK_BYTES - 1]);
  const chunk = { bytes: new Uint8Array(CHUNK_BYTES), size: 10 * MAX_TEXT_BYTES };
  expect(nextRange([chunk])).toEqual([CHUNK_BYTES, 2 * CHUNK_BYTES - 1]);
  expect(nextRange([{ ...chunk, size: CHUNK_BYTES }])).toBeUndefined();
  expect(nextRange(Array(MAX_TEXT_BYTES / CHUNK_BYTES).fill(chunk))).toBeUndefined();
});
