/**
 * JSONata by people whom the process does not belong to, on data of people who are not they. An
 * evaluation has a budget of steps and of what it makes (the same on every machine), and a time
 * limit. A single step of the library cannot be interrupted, so none may take long: no value may
 * weigh more than a step can bear, and the functions that are worse than linear are replaced or
 * refused. Regular expressions are refused for the same reason.
 */
import jsonata from "jsonata";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Json } from "../lib/json.ts";
import { doublingsIn } from "./doublings.ts";

export interface ExpressionLimits {
  /** Of the text, in characters. */
  length: number;
  /** Evaluating a part of the expression is one step; so is making a few items or letters. */
  steps: number;
  timeMs: number;
}

export interface Expressions {
  /** Undefined where the text is an expression that may be used. */
  check(text: string): string | undefined;
  evaluate(text: string, data: Json): Promise<{ value: unknown } | { problem: string }>;
}

const DEPTH = 200;
const DOUBLINGS = 8;
const ITEMS = 100_000;
/** Letters that one call of a function may make. */
const TEXT = 1_000_000;
/** Values within values, each counted as often as it is reached, and a few letters as one. */
const HEAVIEST = 250_000;
const ITEMS_PER_STEP = 4;
const LETTERS_PER_STEP = 50;

export function createExpressions({ length, steps, timeMs }: ExpressionLimits): Expressions {
  const compiled = new BoundedMap<string, jsonata.Expression | { problem: string }>(1000);

  const compile = (text: string): jsonata.Expression | { problem: string } => {
    const known = compiled.get(text);
    if (known) return known;
    const fresh = compileAnew(text);
    compiled.set(text, fresh);
    return fresh;
  };

  const compileAnew = (text: string): jsonata.Expression | { problem: string } => {
    if (text.length > length) return { problem: `is longer than ${length} characters` };
    if (doublingsIn(text) > DOUBLINGS)
      return { problem: `has ?? or ?: within each other more than ${DOUBLINGS} levels deep` };
    try {
      const expression = jsonata(text, {
        RegexEngine: NoRegularExpressions as unknown as RegExpConstructor,
        timeout: timeMs,
        stack: DEPTH,
        sequence: ITEMS,
      });
      if (usesRegex(expression.ast()))
        return { problem: "uses a regular expression; use $contains with a text" };
      expression.assign(ENTRY as unknown as string, spendStep);
      expression.assign(EXIT as unknown as string, weighResult);
      expression.registerFunction("eval", () => refuse("$eval is not available here"));
      expression.registerFunction("pad", pad, "<s-ns?:s>");
      expression.registerFunction("replace", replace, "<s-ssn?:s>");
      expression.registerFunction("join", join, "<a<s>s?:s>");
      expression.registerFunction("distinct", distinct, "<x:x>");
      expression.registerFunction("toMillis", toMillis, "<s-s?:n>");
      return expression;
    } catch (error) {
      return { problem: wordsOf(error) };
    }
  };

  return {
    check(text) {
      const expression = compile(text);
      return "problem" in expression ? expression.problem : undefined;
    },
    async evaluate(text, data) {
      const expression = compile(text);
      if ("problem" in expression) return expression;
      const budget: Budget = { steps, left: steps, weights: new WeakMap() };
      try {
        return { value: (await expression.evaluate(data, { [BUDGET]: budget })) as unknown };
      } catch (error) {
        return { problem: wordsOf(error) };
      }
    },
  };
}

/** JSONata's functions are objects, and hold all that they can see. */
export const isJsonataFunction = (value: object): boolean =>
  "_jsonata_lambda" in value || "_jsonata_function" in value;

interface Budget {
  steps: number;
  left: number;
  /** Of what was made or looked at, so that what is in it many times is counted through once. */
  weights: WeakMap<object, number>;
}

/** A variable of this name cannot be written in an expression. */
const BUDGET = "the budget";
const ENTRY = Symbol.for("jsonata.__evaluate_entry");
const EXIT = Symbol.for("jsonata.__evaluate_exit");

function spend(budget: Budget, count: number): void {
  budget.left -= count;
  if (budget.left < 0) refuse(`takes more than ${budget.steps} steps`);
}

const spendStep = (_: unknown, _input: unknown, environment: jsonata.Environment): void =>
  spend(environment.lookup(BUDGET), 1);

/** What these give was given by another step before, or stands in the text. */
const PASSING_ON = new Set(
  "name variable string number value lambda partial parent bind block condition".split(" "),
);

function weighResult(
  { type, group }: { type: string; group?: unknown },
  _input: unknown,
  environment: jsonata.Environment,
  result: unknown,
): void {
  if (PASSING_ON.has(type) && group === undefined) return;
  const budget: Budget = environment.lookup(BUDGET);
  if (typeof result === "string") spend(budget, result.length / LETTERS_PER_STEP);
  else if (typeof result !== "object" || result === null || budget.weights.has(result)) return;
  else if (Array.isArray(result)) spend(budget, result.length / ITEMS_PER_STEP);
  weigh(result, budget.weights);
}

/** Without recursion, and no further than to what is too much. */
function weigh(value: string | object, weights: WeakMap<object, number>): void {
  let weight = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    weight += 1;
    if (typeof next === "string") weight += next.length / LETTERS_PER_STEP;
    else if (typeof next === "object" && next !== null && !isJsonataFunction(next)) {
      const known = weights.get(next);
      if (known === undefined) for (const one of Object.values(next)) waiting.push(one);
      else weight += known;
    }
    if (weight + waiting.length > HEAVIEST) refuse("makes or selects more than it may at once");
  }
  if (typeof value === "object") weights.set(value, weight);
}

/** Only reached by ways around `usesRegex`. */
class NoRegularExpressions {
  constructor() {
    refuse("regular expressions are not available here");
  }
}

/** A few letters of an expression could have these three make texts without end. */
const allow = (letters: number) => letters > TEXT && refuse("makes too long a text");

function pad(text: string | undefined, width: number, filler = " "): string | undefined {
  if (text === undefined) return undefined;
  allow(Math.abs(width));
  return width < 0 ? text.padStart(-width, filler) : text.padEnd(width, filler);
}

function replace(
  text: string | undefined,
  old: string,
  by: string,
  limit = Number.POSITIVE_INFINITY,
): string | undefined {
  if (text === undefined) return undefined;
  if (old === "") refuse("$replace needs something to look for");
  const pieces = text.split(old);
  const times = Math.min(pieces.length - 1, Math.max(0, limit));
  allow(times * by.length);
  const rest = pieces.slice(times).join(old);
  return [...pieces.slice(0, times), rest].join(by);
}

function join(texts: string[] | undefined, separator = ""): string | undefined {
  if (texts === undefined) return undefined;
  allow(texts.reduce((sum, text) => sum + text.length + separator.length, 0));
  return texts.join(separator);
}

/** The library compares each item with each other. */
function distinct(list: unknown): unknown {
  if (!Array.isArray(list) || list.length <= 1) return list;
  const first = new Map<unknown, unknown>();
  for (const one of list) {
    const key =
      typeof one === "object" && one !== null && isJsonataFunction(one) ? one : spell(one);
    if (!first.has(key)) first.set(key, one);
  }
  const kept = [...first.values()];
  // As the library marks lists that are no more than their only item.
  return "sequence" in list ? Object.defineProperty(kept, "sequence", { value: true }) : kept;
}

/** The same text for what is equal. */
const spell = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

const ISO = /^\d{4}(-\d\d){0,2}(T\d\d:\d\d(:\d\d)?(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;

/** With a picture, the library makes a regular expression of it that can hang. */
function toMillis(text?: string, picture?: string): number | undefined {
  if (text === undefined) return undefined;
  if (picture !== undefined) refuse("$toMillis takes only ISO 8601 here, without a picture");
  const time = ISO.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? refuse("$toMillis: the text is no time in ISO 8601") : time;
}

function refuse(message: string): never {
  throw new Error(message);
}

function usesRegex(root: jsonata.ExprNode): boolean {
  const waiting: unknown[] = [root];
  const seen = new Set<unknown>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next instanceof RegExp) return true;
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    seen.add(next);
    waiting.push(...Object.values(next).filter((value) => value !== undefined));
  }
  return false;
}

/** JSONata throws plain objects. */
function wordsOf(error: unknown): string {
  const { message, position } = error as { message?: unknown; position?: unknown };
  const words = typeof message === "string" && message ? message : String(error);
  return typeof position === "number" ? `${words} (at character ${position})` : words;
}
