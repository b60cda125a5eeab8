/**
 * `*` is any run of characters, `?` is one. Not made into a regular expression: some of those take
 * exponential time, and both sides come from strangers. This takes about the text's length.
 */
import { findText } from "./find-text.ts";

/** Of a pattern, in characters. One that is longer fits nothing. */
export const GLOB_LENGTH = 1000;

export function matchesGlob(text: string, pattern: string): boolean {
  if (pattern.length > GLOB_LENGTH) return false;
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return text.length === first.length && fitsAt(text, first, 0);
  const end = text.length - last.length;
  if (end < first.length || !fitsAt(text, first, 0) || !fitsAt(text, last, end)) return false;
  const middle = text.slice(0, end);
  let from = first.length;
  for (const piece of others) {
    const at = find(middle, piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return true;
}

function fitsAt(text: string, piece: string, from: number): boolean {
  for (let at = 0; at < piece.length; at++)
    if (piece[at] !== "?" && piece[at] !== text[from + at]) return false;
  return true;
}

/** The first place where a piece between two stars fits. */
function find(text: string, piece: string, from: number): number {
  if (!piece.includes("?")) return findText(text, piece, from);
  if (/^\?*$/.test(piece)) return from + piece.length <= text.length ? from : -1;
  return findWithGaps(text, piece, from);
}

/**
 * All beginnings of the piece at once: a bit for each says whether it fits up to here, so that a
 * character of the text takes a step for every 32 of the piece.
 */
function findWithGaps(text: string, piece: string, from: number): number {
  const words = Math.ceil(piece.length / 32);
  const gaps = new Int32Array(words);
  const places = new Map<number, Int32Array>();
  for (let at = 0; at < piece.length; at++) if (piece[at] === "?") mark(gaps, at);
  for (let at = 0; at < piece.length; at++) {
    if (piece[at] === "?") continue;
    const letter = piece.charCodeAt(at);
    if (!places.has(letter)) places.set(letter, gaps.slice());
    mark(places.get(letter) as Int32Array, at);
  }
  const fits = new Int32Array(words);
  const end = 1 << ((piece.length - 1) & 31);
  for (let at = from; at < text.length; at++) {
    const here = places.get(text.charCodeAt(at)) ?? gaps;
    let carried = 1;
    for (let word = 0; word < words; word++) {
      const before = fits[word] as number;
      fits[word] = ((before << 1) | carried) & (here[word] as number);
      carried = before >>> 31;
    }
    if ((fits[words - 1] as number) & end) return at + 1 - piece.length;
  }
  return -1;
}

const mark = (bits: Int32Array, at: number): void => {
  bits[at >> 5] = (bits[at >> 5] as number) | (1 << (at & 31));
};
