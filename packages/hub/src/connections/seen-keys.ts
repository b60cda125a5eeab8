/** The keys of items that a poll has seen: short hashes, oldest first, of bounded number. */
import { sha256Hex } from "../lib/hmac.ts";

export const MAX_KEYS = 10_000;
/** 64 bits in hexadecimal. */
const LENGTH = 16;

export const hashKey = async (key: string): Promise<string> =>
  (await sha256Hex(key)).slice(0, LENGTH);

/** The hashes are stored as one text. */
export function readKeys(text: string): Set<string> {
  const keys = new Set<string>();
  for (let at = 0; at < text.length; at += LENGTH) keys.add(text.slice(at, at + LENGTH));
  return keys;
}

/** Adds the keys of the current list. They count as new, so that the others are dropped first. */
export function writeKeys(known: ReadonlySet<string>, current: readonly string[]): string {
  const isCurrent = new Set(current);
  const kept = [...known].filter((key) => !isCurrent.has(key));
  return [...kept, ...isCurrent].slice(-MAX_KEYS).join("");
}
