/**
 * Glob patterns: `*` matches any number of characters, `?` matches one. Matching takes linear time in
 * the length of the text. A translation to a regular expression could take exponential time.
 */
import { findText } from "./find-text.ts";

/** The maximum length of a pattern. A longer one matches nothing. */
export const MAX_GLOB_LENGTH = 1000;

/**
 * Returns a function that tests whether a text matches the pattern. Compiling takes time, so use one
 * function for all texts.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  if (pattern.length > MAX_GLOB_LENGTH) return () => false;
  const [prefix = "", ...middlePieces] = pattern.split("*");
  const suffix = middlePieces.pop();
  if (suffix === undefined)
    return (text) => text.length === prefix.length && matchesAt(text, prefix, 0);
  const pieces = middlePieces.filter((piece) => piece !== "").map(compilePiece);
  const stars = middlePieces.length + 1;
  const minLength = pattern.length - stars;
  return (text) => {
    const end = text.length - suffix.length;
    if (text.length < minLength || !matchesAt(text, prefix, 0) || !matchesAt(text, suffix, end))
      return false;
    const textBeforeSuffix = text.slice(0, end);
    let from = prefix.length;
    for (const { length, find } of pieces) {
      const at = find(textBeforeSuffix, from);
      if (at < 0) return false;
      from = at + length;
    }
    return true;
  };
}

function matchesAt(text: string, piece: string, from: number): boolean {
  for (let at = 0; at < piece.length; at++)
    if (piece[at] !== "?" && piece[at] !== text[from + at]) return false;
  return true;
}

/**
 * A piece is the part of a pattern between two stars. Returns the first index at which the piece
 * matches the text, or -1.
 */
type FindPiece = (text: string, from: number) => number;

function compilePiece(piece: string): { length: number; find: FindPiece } {
  const { length } = piece;
  if (!piece.includes("?")) return { length, find: (text, from) => findText(text, piece, from) };
  if (/^\?*$/.test(piece))
    return { length, find: (text, from) => (from + length <= text.length ? from : -1) };
  return { length, find: compileWildcards(piece) };
}

/**
 * The shift-and algorithm: bit i of `matches` is set if the first i + 1 characters of the piece match
 * the text that ends at `at`. Each character of the text takes one step per 32 characters of the piece.
 */
function compileWildcards(piece: string): FindPiece {
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
  const lastBit = 1 << ((piece.length - 1) & 31);
  return (text, from) => {
    const matches = new Int32Array(words);
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
  };
}

const setBit = (bits: Int32Array, at: number): void => {
  bits[at >> 5] = (bits[at >> 5] as number) | (1 << (at & 31));
};
