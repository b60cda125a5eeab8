/**
 * Glob patterns: `*` matches any number of characters, `?` matches one. A translation to a regular
 * expression could take exponential time; this is linear in the length of the text.
 */
import { findText } from "./find-text.ts";

/** The maximum length of a pattern. A longer one matches nothing. */
export const GLOB_LENGTH = 1000;

export function matchesGlob(text: string, pattern: string): boolean {
  if (pattern.length > GLOB_LENGTH) return false;
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return text.length === first.length && matchesAt(text, first, 0);
  const end = text.length - last.length;
  if (end < first.length || !matchesAt(text, first, 0) || !matchesAt(text, last, end)) return false;
  const middle = text.slice(0, end);
  let from = first.length;
  for (const piece of others) {
    const at = findPiece(middle, piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return true;
}

function matchesAt(text: string, piece: string, from: number): boolean {
  for (let at = 0; at < piece.length; at++)
    if (piece[at] !== "?" && piece[at] !== text[from + at]) return false;
  return true;
}

/** The first index at which the piece, the text between two stars, matches. */
function findPiece(text: string, piece: string, from: number): number {
  if (!piece.includes("?")) return findText(text, piece, from);
  if (/^\?*$/.test(piece)) return from + piece.length <= text.length ? from : -1;
  return findWithWildcards(text, piece, from);
}

/**
 * The shift-and algorithm: bit i of `matches` is set if the first i + 1 characters of the piece match
 * the text that ends at `at`. Each character of the text takes one step per 32 characters of the piece.
 */
function findWithWildcards(text: string, piece: string, from: number): number {
  const words = Math.ceil(piece.length / 32);
  const wildcards = new Int32Array(words);
  const positions = new Map<number, Int32Array>();
  for (let at = 0; at < piece.length; at++) if (piece[at] === "?") setBit(wildcards, at);
  for (let at = 0; at < piece.length; at++) {
    if (piece[at] === "?") continue;
    const character = piece.charCodeAt(at);
    if (!positions.has(character)) positions.set(character, wildcards.slice());
    setBit(positions.get(character) as Int32Array, at);
  }
  const matches = new Int32Array(words);
  const lastBit = 1 << ((piece.length - 1) & 31);
  for (let at = from; at < text.length; at++) {
    const allowed = positions.get(text.charCodeAt(at)) ?? wildcards;
    let carry = 1;
    for (let word = 0; word < words; word++) {
      const before = matches[word] as number;
      matches[word] = ((before << 1) | carry) & (allowed[word] as number);
      carry = before >>> 31;
    }
    if ((matches[words - 1] as number) & lastBit) return at + 1 - piece.length;
  }
  return -1;
}

const setBit = (bits: Int32Array, at: number): void => {
  bits[at >> 5] = (bits[at >> 5] as number) | (1 << (at & 31));
};
