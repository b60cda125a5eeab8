/**
 * The functions that an expression can call. A call cannot be interrupted, so none may take long:
 * those of the library that are worse than linear are replaced or get less to work on, and every
 * one is charged for what it is given, also where no part of the expression is evaluated for it.
 */
import jsonata from "jsonata";
import { type Budget, budgetOf, HEAVIEST, isJsonataFunction, refuse } from "./budget.ts";
import { findText, includesText, splitText } from "./find-text.ts";

/** What the library calls a function with as `this`. */
interface Focus {
  environment: jsonata.Environment;
}
// biome-ignore lint/suspicious/noExplicitAny: what a function is given is what its signature says
type Implementation = (this: Focus, ...given: any[]) => unknown;
interface Definition {
  _jsonata_function: true;
  implementation: Implementation;
  signature?: unknown;
}

/** Items that one call may make. */
const ITEMS = 100_000;
/** Letters that one call may make. */
const TEXT = 1_000_000;
const PICTURE = 100;
const NUMBER = 1_000;
const MESSAGE = 500;

/** Walking through what is given is cheaper than making it. */
const WEIGHT_READ_PER_STEP = 200;
const LETTERS_READ_PER_STEP = 5_000;

/** Every function of the library. */
const NAMES =
  "sum count max min average string substring substringBefore substringAfter lowercase uppercase length trim pad match contains replace split join formatNumber formatBase formatInteger parseInteger number floor ceil round abs sqrt power random boolean not map zip filter single reduce sift keys lookup append exists spread merge reverse each error assert type sort shuffle distinct base64encode base64decode encodeUrlComponent encodeUrl decodeUrlComponent decodeUrl eval toMillis fromMillis clone now millis".split(
    " ",
  );

/** As the library defines them: seen where an evaluation begins. */
function libraryFunctions(): Map<string, Definition> {
  const found = new Map<string, Definition>();
  const probe = jsonata("null");
  probe.assign(
    Symbol.for("jsonata.__evaluate_entry") as unknown as string,
    (_: unknown, _input: unknown, environment: jsonata.Environment) => {
      for (const name of NAMES) found.set(name, environment.lookup(name));
    },
  );
  void probe.evaluate(null);
  return found;
}

const library = libraryFunctions();

/** As the library does it. */
const own = (name: string, focus: Focus, given: unknown[]): unknown =>
  library.get(name)?.implementation.apply(focus, given);

const allow = (letters: number) => letters > TEXT && refuse("makes too long a text");

/** Pictures and what else says how to write a number: the library takes their square, or worse. */
const withShort = (name: string) =>
  function (this: Focus, value: unknown, ...pictures: unknown[]): unknown {
    for (const one of pictures.flatMap((picture) => [picture, ...valuesOf(picture)]))
      if (typeof one === "string" && one.length > PICTURE)
        refuse(`$${name} takes pictures of at most ${PICTURE} letters here`);
    return own(name, this, [value, ...pictures]);
  };

const valuesOf = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null ? Object.values(value).slice(0, PICTURE) : [];

/** With what the library puts into its own words, which takes the square of a text of braces. */
const saying = (name: string) =>
  function (this: Focus, ...given: unknown[]): unknown {
    const short = given.map((one) => (typeof one === "string" ? one.slice(0, MESSAGE) : one));
    return own(name, this, short);
  };

const ISO = /^\d{4}(-\d\d){0,2}(T\d\d:\d\d(:\d\d)?(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;

const replaced: Readonly<Record<string, Implementation>> = {
  eval: () => refuse("$eval is not available here"),

  pad(text?: string, width = 0, filler = " ") {
    if (text === undefined) return undefined;
    allow(Math.abs(width));
    return width < 0 ? text.padStart(-width, filler) : text.padEnd(width, filler);
  },

  replace(text?: string, old?: unknown, by?: unknown, limit = Number.POSITIVE_INFINITY) {
    if (text === undefined) return undefined;
    if (typeof old !== "string" || typeof by !== "string")
      return refuse("$replace takes only texts here");
    if (old === "") refuse("$replace needs something to look for");
    const pieces = splitText(text, old);
    const times = Math.min(pieces.length - 1, Math.max(0, limit));
    allow(times * by.length);
    const rest = pieces.slice(times).join(old);
    return [...pieces.slice(0, times), rest].join(by);
  },

  join(texts?: string[], separator = "") {
    if (texts === undefined) return undefined;
    allow(texts.reduce((sum, text) => sum + text.length + separator.length, 0));
    return texts.join(separator);
  },

  contains(this: Focus, text?: string, wanted?: unknown) {
    if (text === undefined || typeof wanted !== "string")
      return own("contains", this, [text, wanted]);
    return includesText(text, wanted);
  },

  substringBefore(text?: string, mark = "") {
    const at = text === undefined ? -1 : findText(text, mark);
    return at < 0 ? text : text?.slice(0, at);
  },

  substringAfter(text?: string, mark = "") {
    const at = text === undefined ? -1 : findText(text, mark);
    return at < 0 ? text : text?.slice(at + mark.length);
  },

  split(this: Focus, text?: string, by?: unknown, limit = Number.POSITIVE_INFINITY) {
    if (text === undefined || typeof by !== "string" || limit < 0)
      return own("split", this, [text, by, limit]);
    const pieces = splitText(text, by, Math.min(Math.trunc(limit), ITEMS + 1));
    return pieces.length > ITEMS ? refuse(`makes a list of more than ${ITEMS}`) : pieces;
  },

  /** Letters that JavaScript counts as two are one. */
  length: (text?: string) => (text === undefined ? undefined : lettersBefore(text, text.length)),

  substring(text?: string, start = 0, length?: number) {
    if (text === undefined) return undefined;
    if (length !== undefined && length <= 0) return "";
    const all = lettersBefore(text, text.length);
    const from = start < 0 ? Math.max(0, all + start) : start;
    const to = from + (length ?? all);
    return all === text.length
      ? text.slice(from, to)
      : text.slice(placeOf(text, from), placeOf(text, to));
  },

  formatNumber: withShort("formatNumber"),
  formatInteger: withShort("formatInteger"),
  fromMillis(this: Focus, time?: number, picture?: string, timezone?: string) {
    // It would be filled up to this width.
    if (picture && /\[[^\]]*[,-]\d{3}/.test(picture.slice(0, PICTURE + 1).replace(/\s/g, "")))
      refuse("$fromMillis takes widths of at most 99 here");
    return withShort("fromMillis").call(this, time, picture, timezone);
  },
  now(this: Focus, picture?: string, timezone?: string) {
    return replaced.fromMillis?.call(this, this.environment.timestamp.getTime(), picture, timezone);
  },
  millis(this: Focus) {
    return this.environment.timestamp.getTime();
  },

  parseInteger(this: Focus, text?: string, picture = "") {
    if (text !== undefined && text.length > PICTURE)
      refuse(`$parseInteger takes texts of at most ${PICTURE} letters here`);
    return withShort("parseInteger").call(this, text, picture);
  },

  number(this: Focus, value: unknown) {
    if (typeof value === "string" && value.length > NUMBER)
      refuse(`$number takes texts of at most ${NUMBER} letters here`);
    return own("number", this, [value]);
  },

  /** With a picture, the library makes a regular expression of it that can hang. */
  toMillis(text?: string, picture?: string) {
    if (text === undefined) return undefined;
    if (picture !== undefined) refuse("$toMillis takes only ISO 8601 here, without a picture");
    const time = ISO.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(time) ? refuse("$toMillis: the text is no time in ISO 8601") : time;
  },

  error: saying("error"),
  assert: saying("assert"),

  /** The library compares each item with each other. */
  distinct(list: unknown) {
    if (!Array.isArray(list) || list.length <= 1) return list;
    const seen = new Set<unknown>();
    const spelled = new Set<string>();
    const kept = list.filter((one) => {
      const isData = typeof one === "object" && one !== null && !isJsonataFunction(one);
      return isData ? addTo(spelled, spell(one)) : addTo(seen, one);
    });
    // As the library marks lists that are no more than their only item.
    return "sequence" in list ? asSequence(kept) : kept;
  },

  /** The library takes all that is left of a list anew for each of its items. */
  async sort(this: Focus, list?: unknown[], goesAfter?: GoesAfter) {
    if (list === undefined || list.length <= 1) return list;
    if (goesAfter) return sortBy(list, goesAfter);
    if (!["number", "string"].some((type) => list.every((one) => typeof one === type)))
      return own("sort", this, [list]);
    return typeof list[0] === "number"
      ? Array.from(Float64Array.from(list as number[]).sort())
      : (list as string[]).slice().sort();
  },

  /** The library takes all that is there anew for each object. */
  spread(this: Focus, value: unknown) {
    if (!Array.isArray(value)) return own("spread", this, [value]);
    const all: unknown[] = [];
    spreadInto(all, value);
    return asSequence(all);
  },

  zip(this: Focus, ...lists: unknown[][]) {
    const shortest = Math.min(...lists.map(({ length }) => length));
    if (shortest * lists.length > HEAVIEST) refuse("makes or selects more than it may at once");
    return own("zip", this, lists);
  },
};

const isPair = (text: string, at: number): boolean =>
  (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;

function lettersBefore(text: string, end: number): number {
  let letters = 0;
  for (let at = 0; at < end; at += isPair(text, at) ? 2 : 1) letters += 1;
  return letters;
}

/** Where the nth letter begins. */
function placeOf(text: string, nth: number): number {
  let at = 0;
  for (let left = Math.trunc(nth); left > 0 && at < text.length; left--)
    at += isPair(text, at) ? 2 : 1;
  return at;
}

const asSequence = (list: unknown[]): unknown[] =>
  Object.defineProperty(list, "sequence", { value: true });

/** Whether it is a new one. */
const addTo = <One>(all: Set<One>, one: One): boolean => all.size < all.add(one).size;

/** The same text for what is equal. */
const spell = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

function spreadInto(all: unknown[], value: unknown): void {
  if (Array.isArray(value)) for (const one of value) spreadInto(all, one);
  else if (typeof value === "object" && value !== null && !isJsonataFunction(value))
    for (const [name, one] of Object.entries(value))
      all.push(Object.assign(Object.create(null), { [name]: one }));
  else if (value !== undefined) all.push(value);
  if (all.length > ITEMS) refuse(`makes a list of more than ${ITEMS}`);
}

type GoesAfter = (one: unknown, other: unknown) => unknown;

/** By merging, as what compares may have to be waited for. */
async function sortBy(list: readonly unknown[], goesAfter: GoesAfter): Promise<unknown[]> {
  if (list.length <= 1) return [...list];
  const middle = Math.floor(list.length / 2);
  const left = await sortBy(list.slice(0, middle), goesAfter);
  const right = await sortBy(list.slice(middle), goesAfter);
  const sorted: unknown[] = [];
  let [l, r] = [0, 0];
  while (l < left.length && r < right.length)
    sorted.push((await goesAfter(left[l], right[r])) ? right[r++] : left[l++]);
  return [...sorted, ...left.slice(l), ...right.slice(r)];
}

/** Also where it is called for each item of a list, and no part of the expression is evaluated. */
function charged(run: Implementation, { implementation }: Definition): Implementation {
  function charge(this: Focus, ...given: unknown[]): unknown {
    const budget = budgetOf(this.environment);
    const turn = budget.spend(given.reduce<number>((sum, one) => sum + stepsOf(one, budget), 1));
    return turn ? turn.then(() => run.apply(this, given)) : run.apply(this, given);
  }
  // The library counts a function's parameters, and reads their names from its text.
  return Object.defineProperties(charge, {
    length: { value: implementation.length },
    toString: { value: () => implementation.toString() },
  });
}

function stepsOf(value: unknown, { weights }: Budget): number {
  if (typeof value === "string") return value.length / LETTERS_READ_PER_STEP;
  if (typeof value !== "object" || value === null) return 0;
  const weight = weights.get(value) ?? (Array.isArray(value) ? value.length : 0);
  return weight / WEIGHT_READ_PER_STEP;
}

export const builtIns: ReadonlyMap<string, Definition> = new Map(
  [...library].map(([name, definition]) => [
    name,
    {
      ...definition,
      implementation: charged(replaced[name] ?? definition.implementation, definition),
    },
  ]),
);
