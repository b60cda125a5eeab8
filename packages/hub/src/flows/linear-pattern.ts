/**
 * Regular expressions of strangers on texts of strangers. The engine of the language tries one way
 * after the other, which some patterns make take for ever; this goes all ways at once (Thompson's
 * construction), and what it takes is at most the product of the two lengths. Its rules are those
 * of ECMAScript with the flag u: which characters an atom stands for is left to the language's own
 * engine, one character at a time. Docs: docs/decisions/0010-schemas-are-checked-in-steps.md.
 */
import type { Effort } from "./effort.ts";

export type Compiled = { pattern: Pattern } | { problem: string };

export interface Pattern {
  /** Whether some part of the text fits. */
  test(text: string, effort: Effort): boolean;
}

interface State {
  /** The one next character that leads on; where there is neither of the two, all ways are open. */
  takes?: (character: string, effort: Effort) => boolean;
  holds?: (before: string | undefined, after: string | undefined) => boolean;
  to: number[];
}

/** Makes the states that come before `next`, and says which is their first. */
type Part = (next: number) => number;

export const PATTERN_LENGTH = 2000;
/** Of states and the ways between them. Repetitions are written out: `a{1000}` has a thousand. */
const PATTERN_SIZE = 10_000;

class Refused extends Error {}

export function compilePattern(source: string, effort: Effort): Compiled {
  if (source.length > PATTERN_LENGTH)
    return { problem: `must have at most ${PATTERN_LENGTH} characters` };
  if (!isPattern(source)) return { problem: "is not a regular expression" };
  try {
    return { pattern: build(source, effort) };
  } catch (error) {
    if (error instanceof Refused) return { problem: error.message };
    throw error;
  }
}

function isPattern(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}

/** Of a pattern that is known to be one: groups, quantifiers, escapes, classes, and all else. */
const TOKENS =
  /\((?:\?(?:<?[=!]|<[^>]*>|:|[^:]))?|(?:[*+?]|\{\d+(?:,\d*)?\})\??|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]+\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[A-Za-z]|\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|./gsu;

const isWord = (character: string | undefined): boolean =>
  character !== undefined && /^\w$/.test(character);

const PLACES: Readonly<Record<string, State["holds"]>> = {
  "^": (before) => before === undefined,
  $: (_, after) => after === undefined,
  "\\b": (before, after) => isWord(before) !== isWord(after),
  "\\B": (before, after) => isWord(before) === isWord(after),
};

function build(source: string, effort: Effort): Pattern {
  const tokens = source.match(TOKENS) ?? [];
  let at = 0;
  let made = 0;
  const states: State[] = [{ to: [] }];
  const END = 0;

  /** Also of what makes no state: nothing, many times over, takes its time too. */
  function count(more: number): void {
    made += more;
    effort.spend(more);
    if (made > PATTERN_SIZE)
      throw new Refused("repeats too much: say how long a text may be with maxLength");
  }
  function add(state: State): number {
    count(1 + state.to.length);
    return states.push(state) - 1;
  }

  function either(): Part {
    const ways = [sequence()];
    while (tokens[at] === "|") {
      at++;
      ways.push(sequence());
    }
    const [only] = ways;
    if (only && ways.length === 1) return only;
    return (next) => add({ to: ways.map((way) => way(next)) });
  }

  function sequence(): Part {
    const parts: Part[] = [];
    while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") parts.push(repeated());
    return (next) => parts.reduceRight((later, part) => part(later), next);
  }

  function repeated(): Part {
    const part = atom();
    const range = rangeOf(tokens[at] ?? "");
    if (!range) return part;
    at++;
    const { least, most } = range;
    return (next) => {
      let first = next;
      if (most === undefined) {
        const loop = { to: [next] };
        first = add(loop);
        loop.to.push(part(first));
      } else for (let nth = least; nth < most; nth++) first = add({ to: [next, part(first)] });
      for (let nth = 0; nth < least; nth++) {
        count(1);
        first = part(first);
      }
      return first;
    };
  }

  function atom(): Part {
    const token = tokens[at++] ?? "";
    if (token.startsWith("(")) {
      if (/^\(\?<?[=!]/.test(token))
        throw new Refused(`must not look ahead or behind, as ${token} does`);
      if (!/^\((?:\?:|\?<.*>)?$/su.test(token))
        throw new Refused(`must not change its flags, as ${token} does`);
      const inner = either();
      at++;
      return inner;
    }
    if (/^\\[1-9k]/.test(token))
      throw new Refused(`must not refer back to a group, as ${token} does`);
    const holds = PLACES[token];
    if (holds) return (next) => add({ holds, to: [next] });
    const takes = takerOf(token);
    return (next) => add({ takes, to: [next] });
  }

  const start = either()(END);
  return { test: (text, spent) => run(states, start, END, text, spent) };
}

function rangeOf(token: string): { least: number; most: number | undefined } | undefined {
  const [, sign, least, comma, most] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(token) ?? [];
  if (sign) return { least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : undefined };
  if (least === undefined) return undefined;
  if (!comma) return { least: Number(least), most: Number(least) };
  return { least: Number(least), most: most ? Number(most) : undefined };
}

/** A character stands for itself; of all else the language's own engine knows what it stands for. */
function takerOf(token: string): NonNullable<State["takes"]> {
  if (token !== "." && !/^[\\[]/.test(token)) return (character) => character === token;
  let one: RegExp | undefined;
  // A part that is written out many times is asked of the same character each time.
  let last: string | undefined;
  let fits = false;
  return (character, effort) => {
    if (!one) {
      // Classes of Unicode are long, and made when they are first used.
      effort.spend(/\\p/i.test(token) ? 20_000 : 500 + 10 * token.length);
      one = new RegExp(`^${token}$`, "u");
    }
    if (character !== last) {
      last = character;
      fits = one.test(character);
    }
    return fits;
  };
}

function run(
  states: readonly State[],
  start: number,
  end: number,
  text: string,
  effort: Effort,
): boolean {
  effort.spend(states.length / 8);
  const seenAt = new Int32Array(states.length).fill(-1);
  let waiting: number[] = [];
  let before: string | undefined;
  let place = 0;

  /** Whether the end is met; else, where all ways have come to with this character. */
  function step(after: string | undefined): boolean {
    const open = [...waiting, start];
    waiting = [];
    effort.spend(1);
    for (let nth = open.pop(); nth !== undefined; nth = open.pop()) {
      if (seenAt[nth] === place) continue;
      seenAt[nth] = place;
      if (nth === end) return true;
      const { takes, holds, to } = states[nth] as State;
      effort.spend(1 + to.length);
      if (takes) {
        if (after !== undefined && takes(after, effort)) waiting.push(...to);
      } else if (!holds || holds(before, after)) open.push(...to);
    }
    before = after;
    place++;
    return false;
  }

  for (const character of text) if (step(character)) return true;
  return step(undefined);
}
