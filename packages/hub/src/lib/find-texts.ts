/**
 * Finds many short texts in a long one, in a single pass: the time does not depend on how many are
 * searched.
 */

/** Shorter texts are not searched. Shorter secrets would match ordinary text. */
export const MIN_LENGTH = 4;
const BUCKETS = 1 << 16;

export interface Texts {
  /** The ranges in which texts were found, in order. Ranges that overlap are merged. */
  find(within: string): [from: number, to: number][];
  isIn(within: string): boolean;
}

export function createTexts(texts: readonly string[]): Texts {
  /** By the hash of the first four characters, longest first. */
  const buckets = new Map<number, string[]>();
  const isUsed = new Uint8Array(BUCKETS);
  for (const text of texts.toSorted((a, b) => b.length - a.length)) {
    const hash = hashAt(text, 0);
    isUsed[hash] = 1;
    buckets.set(hash, [...(buckets.get(hash) ?? []), text]);
  }
  /** The next place at which a text starts, or -1. */
  const next = (within: string, from: number): number => {
    const last = within.length - MIN_LENGTH;
    if (from > last) return -1;
    let a = within.charCodeAt(from);
    let b = within.charCodeAt(from + 1);
    let c = within.charCodeAt(from + 2);
    for (let at = from; at <= last; at += 1) {
      const d = within.charCodeAt(at + 3);
      const hash = hashOf(a, b, c, d);
      if (isUsed[hash] === 1 && longestAt(within, at, hash) > 0) return at;
      a = b;
      b = c;
      c = d;
    }
    return -1;
  };
  const longestAt = (within: string, at: number, hash: number): number =>
    buckets.get(hash)?.find((text) => within.startsWith(text, at))?.length ?? 0;

  return {
    find(within) {
      const ranges: [number, number][] = [];
      if (texts.length === 0) return ranges;
      for (let at = next(within, 0); at >= 0; at = next(within, at + 1)) {
        const end = at + longestAt(within, at, hashAt(within, at));
        const before = ranges.at(-1);
        if (before && at < before[1]) before[1] = Math.max(before[1], end);
        else ranges.push([at, end]);
      }
      return ranges;
    },
    isIn: (within) => texts.length > 0 && next(within, 0) >= 0,
  };
}

const hashOf = (a: number, b: number, c: number, d: number): number =>
  (a ^ (b << 4) ^ (c << 8) ^ (d << 11) ^ (d >> 5)) & (BUCKETS - 1);

const hashAt = (text: string, at: number): number =>
  hashOf(
    text.charCodeAt(at),
    text.charCodeAt(at + 1),
    text.charCodeAt(at + 2),
    text.charCodeAt(at + 3),
  );
