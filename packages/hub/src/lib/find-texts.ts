/**
 * Finds many texts in a long one, in linear time. An Aho-Corasick automaton finds the short ones in a
 * single pass, however many there are. Of a longer text it finds the start; the text is then searched
 * on its own, because all of its characters would take too much memory in the automaton.
 */

/** Shorter texts are not searched. Shorter secrets would match ordinary text. */
export const MIN_LENGTH = 4;
/** The characters of a text that are in the automaton. */
const MAX_LENGTH = 64;
const HASHES = 1 << 16;

type Range = [from: number, to: number];
/** Returns true to end the search. Called in the order of the ends. */
type OnFound = (from: number, to: number) => boolean;

export interface Texts {
  /** The ranges in which texts were found, in order. Ranges that overlap are merged. */
  find(within: string): Range[];
  isIn(within: string): boolean;
}

/** Its states are numbers; 0 is the root. */
interface Automaton {
  step(state: number, code: number): number;
  /** For each state, the length of the longest short text that ends there; 0 if there is none. */
  lengths: readonly number[];
  /** For each state, the longer texts that start with the characters up to there. */
  long: ReadonlyMap<number, readonly string[]>;
}

export function createTexts(texts: readonly string[]): Texts {
  const { step, lengths, long } = createAutomaton(texts);
  const isStart = new Uint8Array(HASHES);
  for (const text of texts) isStart[hashAt(text, 0)] = 1;

  /** Calls `onLong` where a longer text may start. */
  const search = (
    within: string,
    onFound: OnFound,
    onLong: (text: string, at: number) => boolean,
  ) => {
    let state = 0;
    for (let at = 0; at < within.length; at += 1) {
      if (state === 0) {
        at = nextStart(within, at, isStart);
        if (at < 0) return;
      }
      state = step(state, within.charCodeAt(at));
      const length = lengths[state] as number;
      if (length > 0 && onFound(at + 1 - length, at + 1)) return;
      if (long.size === 0) continue;
      for (const text of long.get(state) ?? []) if (onLong(text, at + 1 - MAX_LENGTH)) return;
    }
  };

  return {
    find(within) {
      const found: Range[] = [];
      const foundLong = new Map<string, Range[]>();
      search(within, addTo(found), (text, at) => {
        if (foundLong.has(text)) return false;
        const ranges: Range[] = [];
        foundLong.set(text, ranges);
        searchOne(text, within, at, addTo(ranges));
        return false;
      });
      return foundLong.size === 0 ? found : merge([found, ...foundLong.values()]);
    },
    isIn(within) {
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
  const long = new Map<number, string[]>();
  const step = (from: number, code: number): number => {
    for (let state = from; ; state = suffixes[state] as number) {
      const child = children.get(keyOf(state, code));
      if (child !== undefined || state === 0) return child ?? 0;
    }
  };
  const states = texts.map(() => 0);
  // The shorter suffixes of a state exist before it.
  for (let depth = 0; depth < MAX_LENGTH; depth += 1)
    for (const [nth, text] of texts.entries()) {
      if (depth >= text.length) continue;
      const parent = states[nth] as number;
      const code = text.charCodeAt(depth);
      let state = children.get(keyOf(parent, code));
      if (state === undefined) {
        state = lengths.length;
        const suffix = parent === 0 ? 0 : step(suffixes[parent] as number, code);
        children.set(keyOf(parent, code), state);
        suffixes.push(suffix);
        lengths.push(lengths[suffix] as number);
      }
      states[nth] = state;
      if (depth + 1 === text.length) lengths[state] = text.length;
      else if (depth + 1 === MAX_LENGTH) long.set(state, [...(long.get(state) ?? []), text]);
    }
  return { step, lengths, long };
}

/** The next place whose four characters may start a text, or -1. */
function nextStart(within: string, from: number, isStart: Uint8Array): number {
  const last = within.length - MIN_LENGTH;
  let a = within.charCodeAt(from);
  let b = within.charCodeAt(from + 1);
  let c = within.charCodeAt(from + 2);
  for (let at = from; at <= last; at += 1) {
    const d = within.charCodeAt(at + 3);
    if (isStart[hashOf(a, b, c, d)] === 1) return at;
    a = b;
    b = c;
    c = d;
  }
  return -1;
}

/** Knuth-Morris-Pratt: `indexOf` takes quadratic time for some texts. */
function searchOne(text: string, within: string, start: number, onFound: OnFound): void {
  /** For each number of matched characters, the longest of their suffixes that `text` starts with. */
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

/** Merges a range with those before that it overlaps. */
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
    const before = merged.at(-1);
    if (before && from < before[1]) before[1] = Math.max(before[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

const hashOf = (a: number, b: number, c: number, d: number): number =>
  (a ^ (b << 4) ^ (c << 8) ^ (d << 11) ^ (d >> 5)) & (HASHES - 1);

const hashAt = (text: string, at: number): number =>
  hashOf(
    text.charCodeAt(at),
    text.charCodeAt(at + 1),
    text.charCodeAt(at + 2),
    text.charCodeAt(at + 3),
  );
