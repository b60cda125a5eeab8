/**
 * Searches a long text for many texts, in linear time. A single pass with an Aho-Corasick automaton
 * finds all texts of up to `PREFIX_LENGTH` characters. The automaton contains only this prefix of a
 * longer text, to save memory. Where it finds the prefix, a separate search for the longer text starts.
 */

/** The minimum length of a text to search for. Shorter secrets would match ordinary text. */
export const MIN_LENGTH = 4;
const PREFIX_LENGTH = 64;
const HASH_COUNT = 1 << 16;

type Range = [from: number, to: number];
/** Called for each occurrence, in the order of `to`. It returns true to stop the search. */
type OnFound = (from: number, to: number) => boolean;

export interface TextSearch {
  /** Returns the ranges in which texts occur, in order. Ranges that overlap are merged. */
  find(within: string): Range[];
  /** Returns whether any of the texts occurs. */
  hasMatch(within: string): boolean;
}

/** An Aho-Corasick automaton. Its states are numbers; 0 is the root. */
interface Automaton {
  step(state: number, code: number): number;
  /** For each state, the length of the longest text that ends there; 0 if there is none. */
  lengths: readonly number[];
  /** The texts longer than `PREFIX_LENGTH`, by the state at which their prefix ends. */
  longTexts: ReadonlyMap<number, readonly string[]>;
}

export function createTextSearch(texts: readonly string[]): TextSearch {
  const { step, lengths, longTexts } = createAutomaton(texts);
  /** The entry of a hash is 1 if the first four characters of a text have this hash. */
  const isStartHash = new Uint8Array(HASH_COUNT);
  for (const text of texts) isStartHash[hashAt(text, 0)] = 1;

  /** Calls `onFound` for each short text, and `onPrefix` where the prefix of a long text starts. */
  const search = (
    within: string,
    onFound: OnFound,
    onPrefix: (text: string, at: number) => boolean,
  ) => {
    let state = 0;
    for (let at = 0; at < within.length; at += 1) {
      if (state === 0) {
        at = nextStart(within, at, isStartHash);
        if (at < 0) return;
      }
      state = step(state, within.charCodeAt(at));
      const length = lengths[state] as number;
      if (length > 0 && onFound(at + 1 - length, at + 1)) return;
      if (longTexts.size === 0) continue;
      for (const text of longTexts.get(state) ?? [])
        if (onPrefix(text, at + 1 - PREFIX_LENGTH)) return;
    }
  };

  return {
    find(within) {
      const shortRanges: Range[] = [];
      const longRanges = new Map<string, Range[]>();
      search(within, addTo(shortRanges), (text, at) => {
        if (longRanges.has(text)) return false;
        const ranges: Range[] = [];
        longRanges.set(text, ranges);
        searchOne(text, within, at, addTo(ranges));
        return false;
      });
      return longRanges.size === 0 ? shortRanges : merge([shortRanges, ...longRanges.values()]);
    },
    hasMatch(within) {
      let isFound = false;
      const onFound = () => {
        isFound = true;
        return true;
      };
      const searched = new Set<string>();
      search(within, onFound, (text, at) => {
        if (!searched.has(text)) searchOne(text, within, at, onFound);
        searched.add(text);
        return isFound;
      });
      return isFound;
    },
  };
}

function createAutomaton(texts: readonly string[]): Automaton {
  const children = new Map<number, number>();
  const keyOf = (state: number, code: number) => state * 0x10000 + code;
  /** For each state, the state of its longest proper suffix. */
  const suffixes = [0];
  const lengths = [0];
  const longTexts = new Map<number, string[]>();
  const step = (from: number, code: number): number => {
    for (let state = from; ; state = suffixes[state] as number) {
      const child = children.get(keyOf(state, code));
      if (child !== undefined || state === 0) return child ?? 0;
    }
  };
  /** For each text, the state of the characters that were added so far. */
  const states = texts.map(() => 0);
  // All texts grow by one character at a time, so that the states of shorter suffixes exist already.
  for (let depth = 0; depth < PREFIX_LENGTH; depth += 1)
    for (const [index, text] of texts.entries()) {
      if (depth >= text.length) continue;
      const parent = states[index] as number;
      const code = text.charCodeAt(depth);
      let state = children.get(keyOf(parent, code));
      if (state === undefined) {
        state = lengths.length;
        const suffix = parent === 0 ? 0 : step(suffixes[parent] as number, code);
        children.set(keyOf(parent, code), state);
        suffixes.push(suffix);
        lengths.push(lengths[suffix] as number);
      }
      states[index] = state;
      if (depth + 1 === text.length) lengths[state] = text.length;
      else if (depth + 1 === PREFIX_LENGTH)
        longTexts.set(state, [...(longTexts.get(state) ?? []), text]);
    }
  return { step, lengths, longTexts };
}

/** Returns the next index whose four characters may start a text, or -1. */
function nextStart(within: string, from: number, isStartHash: Uint8Array): number {
  const last = within.length - MIN_LENGTH;
  let a = within.charCodeAt(from);
  let b = within.charCodeAt(from + 1);
  let c = within.charCodeAt(from + 2);
  for (let at = from; at <= last; at += 1) {
    const d = within.charCodeAt(at + 3);
    if (isStartHash[hashOf(a, b, c, d)] === 1) return at;
    a = b;
    b = c;
    c = d;
  }
  return -1;
}

/** Searches with the Knuth-Morris-Pratt algorithm, because `indexOf` takes quadratic time for some texts. */
function searchOne(text: string, within: string, start: number, onFound: OnFound): void {
  /** For each prefix length of `text`, the length of its longest proper suffix that is also a prefix. */
  const borders = new Int32Array(text.length + 1);
  const extend = (length: number, code: number): number => {
    let matched = length;
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched] as number;
    return text.charCodeAt(matched) === code ? matched + 1 : matched;
  };
  for (let at = 1; at < text.length; at += 1)
    borders[at + 1] = extend(borders[at] as number, text.charCodeAt(at));
  let matched = 0;
  for (let at = start; at < within.length; at += 1) {
    matched = extend(matched, within.charCodeAt(at));
    if (matched < text.length) continue;
    if (onFound(at + 1 - matched, at + 1)) return;
    matched = borders[matched] as number;
  }
}

/** Returns a callback that appends a range, and merges it with earlier ranges that it overlaps. */
function addTo(ranges: Range[]): OnFound {
  return (from, to) => {
    let first = from;
    while ((ranges.at(-1)?.[1] ?? 0) > from) first = Math.min(first, (ranges.pop() as Range)[0]);
    ranges.push([first, to]);
    return false;
  };
}

function merge(lists: readonly Range[][]): Range[] {
  const merged: Range[] = [];
  for (const [from, to] of lists.flat().sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from < last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

const hashOf = (a: number, b: number, c: number, d: number): number =>
  (a ^ (b << 4) ^ (c << 8) ^ (d << 11) ^ (d >> 5)) & (HASH_COUNT - 1);

const hashAt = (text: string, at: number): number =>
  hashOf(
    text.charCodeAt(at),
    text.charCodeAt(at + 1),
    text.charCodeAt(at + 2),
    text.charCodeAt(at + 3),
  );
