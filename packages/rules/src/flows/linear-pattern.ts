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

type Takes = (character: string, effort: Effort) => boolean;

interface State {
  /** The one next character that leads on; where there is neither of the two, all ways are open. */
  takes?: Takes;
  holds?: (before: string | undefined, after: string | undefined) => boolean;
  to: number[];
}

/** Makes the states that come before `next`, and says which is their first. */
type Part = (next: number) => number;

export const PATTERN_LENGTH = 2000;
/** Of states and the ways between them. Repetitions are written out: `a{1000}` has a thousand. */
const PATTERN_SIZE = 10_000;
/** Of Unicode, as `\p{L}`, in one pattern. */
const MOST_CLASSES = 30;
const STEPS_PER_PATTERN = 200;

class Refused extends Error {}

/** By source, for all schemas: the same tools are called again and again. */
const kept = new Map<string, { pattern: Pattern; steps: number }>();
let keptSteps = 0;
/** A pattern takes less room than it took steps, at some hundred bytes each. */
const MOST_KEPT_STEPS = 200_000;

/** Takes the same steps whether the pattern is known or not: verdicts do not depend on luck. */
export function compilePattern(source: string, effort: Effort): Compiled {
  const known = kept.get(source);
  if (known) {
    for (const name of classesIn(source)) spendClass(name, effort);
    effort.spend(known.steps);
    return { pattern: known.pattern };
  }
  let steps = 0;
  const counted: Effort = {
    spend(more) {
      steps += more;
      effort.spend(more);
    },
    spendOnce: (name, more) => effort.spendOnce(name, more),
  };
  const problem = patternProblem(source, counted);
  if (problem) return { problem };
  try {
    const pattern = build(source, counted);
    keptSteps += steps;
    if (keptSteps > MOST_KEPT_STEPS) {
      kept.clear();
      keptSteps = steps;
    }
    kept.set(source, { pattern, steps });
    return { pattern };
  } catch (error) {
    if (error instanceof Refused) return { problem: error.message };
    throw error;
  }
}

/** Why it is no regular expression, or none that can be looked at; or undefined. */
export function patternProblem(source: string, effort: Effort): string | undefined {
  if (source.length > PATTERN_LENGTH) return `must have at most ${PATTERN_LENGTH} characters`;
  effort.spend(STEPS_PER_PATTERN + source.length);
  const names = classesIn(source);
  if (names.length > MOST_CLASSES)
    return `must have at most ${MOST_CLASSES} classes of Unicode, as ${names[0]} is`;
  // The engine would make each class anew, each time that it comes upon it.
  const isOne =
    names.every((name) => classOf(name, effort)) && toRegExp(withoutClasses(source)) !== undefined;
  return isOne ? undefined : "is not a regular expression";
}

function toRegExp(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

const ESCAPES = /\\(?:[pP]\{[^}]*\}|.)/gsu;
const isClass = (text: string): boolean => /^\\p\{/i.test(text);
const classesIn = (source: string): string[] => (source.match(ESCAPES) ?? []).filter(isClass);
/** One that holds nothing stands where it may stand. */
const withoutClasses = (source: string): string =>
  source.replace(ESCAPES, (text) => (isClass(text) ? "\\P{Any}" : text));

/** By what they are called, of which there are not many: each takes up to a millisecond to make. */
const classes = new Map<string, RegExp>();
const STEPS_PER_CLASS = 10_000;
const spendClass = (name: string, effort: Effort): void => effort.spendOnce(name, STEPS_PER_CLASS);

function classOf(name: string, effort: Effort): RegExp | undefined {
  spendClass(name, effort);
  const known = classes.get(name);
  if (known) return known;
  const made = toRegExp(`^${name}$`);
  if (made) classes.set(name, made);
  return made;
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
  const takers = new Map<string, Takes>();

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
    return (next) => {
      effort.spend(1 + parts.length);
      return parts.reduceRight((later, part) => part(later), next);
    };
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
    let takes = takers.get(token);
    if (!takes) {
      takes = takerOf(token, effort);
      takers.set(token, takes);
    }
    const taker = takes;
    return (next) => add({ takes: taker, to: [next] });
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
function takerOf(token: string, effort: Effort): Takes {
  if (token !== "." && !/^[\\[]/.test(token)) return (character) => character === token;
  effort.spend(100 + 10 * token.length);
  const within = classesIn(token).map((name) => classOf(name, effort));
  let others: RegExp | undefined;
  const isNegated = token.startsWith("[^");
  // A part that is written out many times is asked of the same character each time.
  let last: string | undefined;
  let fits = false;
  return (character, spent) => {
    if (character === last) return fits;
    spent.spend(within.length);
    others ??= new RegExp(`^${withoutClasses(token)}$`, "u");
    const isWithin = within.some((one) => one?.test(character));
    fits = isNegated ? others.test(character) && !isWithin : others.test(character) || isWithin;
    last = character;
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
