/** The item keys that a poll has seen: a limited number of short hashes, oldest first. */
import { sha256Hex } from "../kernel/lib/hmac.ts";

export const MAX_KEYS = 10_000;
/** 64 bits in hexadecimal. */
const HASH_LENGTH = 16;

export const hashKey = async (key: string): Promise<string> =>
  (await sha256Hex(key)).slice(0, HASH_LENGTH);

/** Splits the stored text, which is all hashes without a separator. */
export function readKeys(text: string): Set<string> {
  const hashes = new Set<string>();
  for (let start = 0; start < text.length; start += HASH_LENGTH)
    hashes.add(text.slice(start, start + HASH_LENGTH));
  return hashes;
}

/** Moves the hashes of the current list to the end. Above the limit, the first hashes are dropped. */
export function writeKeys(seen: ReadonlySet<string>, current: readonly string[]): string {
  const currentHashes = new Set(current);
  const others = [...seen].filter((hash) => !currentHashes.has(hash));
  return [...others, ...currentHashes].slice(-MAX_KEYS).join("");
}
