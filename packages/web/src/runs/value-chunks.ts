/** A large value that is loaded in chunks of its JSON text. */
import type { Json } from "@signalbox/rules/json.ts";

export interface ValueChunk {
  bytes: Uint8Array;
  /** The size of the whole value. */
  size: number;
}

export const CHUNK_BYTES = 64 * 1024;
/** The page does not show more text, because it would be slow. The user can download the whole value. */
export const MAX_TEXT_BYTES = 1024 * 1024;
/** The page does not parse a larger value. */
export const MAX_TREE_BYTES = 8 * 1024 * 1024;

export const loadedBytes = (chunks: readonly ValueChunk[]): number =>
  chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** Returns the first and last byte of the next chunk; undefined at the end or at `MAX_TEXT_BYTES`. */
export function nextRange(chunks: readonly ValueChunk[]): [number, number] | undefined {
  const from = loadedBytes(chunks);
  const size = chunks.at(-1)?.size ?? Number.POSITIVE_INFINITY;
  return from >= size || from >= MAX_TEXT_BYTES ? undefined : [from, from + CHUNK_BYTES - 1];
}

/** Decodes the chunks. An incomplete character at the end is omitted. */
export function joinText(chunks: readonly ValueChunk[]): string {
  const decoder = new TextDecoder();
  return chunks.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join("");
}

/** Parses the value; returns undefined until all chunks are loaded. */
export function joinValue(chunks: readonly ValueChunk[]): { value: Json } | undefined {
  const last = chunks.at(-1);
  if (!last || loadedBytes(chunks) < last.size) return undefined;
  try {
    return { value: JSON.parse(joinText(chunks)) as Json };
  } catch {
    return undefined;
  }
}
