/**
 * JSONata by people whom the process does not belong to, on data of people who are not they. An
 * evaluation has a budget of steps and of what it makes (the same on every machine), and a time
 * limit. A single step of the library cannot be interrupted, so none may take long: no value may
 * weigh more than a step can bear, and the functions that are worse than linear are replaced or
 * refused. Regular expressions are refused for the same reason.
 */
import jsonata from "jsonata";
import { BoundedMap } from "../bounded-map.ts";
import type { Json } from "../json.ts";
import {
  type Allowance,
  BUDGET,
  budgetOf,
  type Clock,
  HEAVIEST,
  LETTERS_PER_STEP,
  openBudget,
  refuse,
  systemClock,
  weigh,
} from "./budget.ts";
import { builtIns } from "./built-ins.ts";
import { parseCostOf } from "./parse-cost.ts";

export interface ExpressionLimits {
  /** Of the text, in characters. */
  length: number;
  /** Evaluating a part of the expression is one step; so is making a few items or letters. */
  steps: number;
  timeMs: number;
  clock?: Clock;
}

export interface Expressions {
  /** Undefined where the text is an expression that may be used. */
  check(text: string): string | undefined;
  /** Of the allowance it takes what it needs. */
  evaluate(
    text: string,
    data: Json,
    allowance?: Allowance,
  ): Promise<{ value: unknown } | { problem: string }>;
}

const DEPTH = 200;
const DOUBLINGS = 8;
/** What the parser makes of a text within some fifty milliseconds. */
const PARTS = 30_000;
const ITEMS = 100_000;
const ITEMS_PER_STEP = 4;
const ITEMS_READ_PER_STEP = 1_000;
/** Of what stands in an error: it goes into verdicts. */
const WORDS = 1_000;

export function createExpressions({
  length,
  clock = systemClock,
  ...limits
}: ExpressionLimits): Expressions {
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
    const problem = problemOfReading(text);
    if (problem) return { problem };
    try {
      const expression = jsonata(text, {
        RegexEngine: NoRegularExpressions as unknown as RegExpConstructor,
        stack: DEPTH,
        sequence: ITEMS,
      });
      expression.assign(ENTRY as unknown as string, spendStep);
      expression.assign(EXIT as unknown as string, weighResult);
      for (const [name, definition] of builtIns) expression.assign(name, definition);
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
    async evaluate(text, data, allowance) {
      const expression = compile(text);
      if ("problem" in expression) return expression;
      const budget = openBudget(limits, clock, allowance);
      try {
        return { value: (await expression.evaluate(data, { [BUDGET]: budget })) as unknown };
      } catch (error) {
        return { problem: wordsOf(error) };
      } finally {
        budget.close();
      }
    },
  };
}

/** What is too much for the parser, or could be for what it makes. */
function problemOfReading(text: string): string | undefined {
  const { parts, levels, regex, signature } = parseCostOf(text, PARTS);
  if (levels > DOUBLINGS)
    return `has ?? or ?: within each other more than ${DOUBLINGS} levels deep`;
  if (parts > PARTS)
    return "is too much to read: a path has too many steps, ?? or ?: stand after too much (what is before them counts twice), or brackets are too deep";
  if (regex) return "uses a regular expression; use $contains with a text";
  return signature && `has a function signature that is not understood here: ${signature}`;
}

const ENTRY = Symbol.for("jsonata.__evaluate_entry");
const EXIT = Symbol.for("jsonata.__evaluate_exit");

function spendStep(
  { type }: { type: string },
  input: unknown,
  environment: jsonata.Environment,
): void | Promise<void> {
  if (type === "wildcard") checkWildcard(input);
  return budgetOf(environment).spend(1);
}

/** The library takes all that is there anew for each list that `*` comes to. */
function checkWildcard(input: unknown): void {
  if (typeof input !== "object" || input === null) return;
  let [lists, items] = [0, 0];
  for (const one of Object.values(input)) {
    lists += Array.isArray(one) ? 1 : 0;
    items += Array.isArray(one) ? one.length : 1;
  }
  if (lists * items > 100 * HEAVIEST) refuse("selects too many lists with *");
}

/** What these give was given by another step before, or stands in the text. */
const PASSING_ON = new Set(
  "name variable string number value lambda partial parent bind block condition".split(" "),
);

function weighResult(
  { type, group }: { type: string; group?: unknown },
  _input: unknown,
  environment: jsonata.Environment,
  result: unknown,
): void | Promise<void> {
  const budget = budgetOf(environment);
  // An operator may go through all of it.
  if (type === "variable" && Array.isArray(result))
    return budget.spend(result.length / ITEMS_READ_PER_STEP);
  if (PASSING_ON.has(type) && group === undefined) return undefined;
  if (typeof result !== "string")
    if (typeof result !== "object" || result === null || budget.weights.has(result))
      return undefined;
  weigh(result, budget.weights);
  if (typeof result === "string") return budget.spend(result.length / LETTERS_PER_STEP);
  return Array.isArray(result) ? budget.spend(result.length / ITEMS_PER_STEP) : undefined;
}

/** Only reached by ways around `problemOfReading`. */
class NoRegularExpressions {
  constructor() {
    refuse("regular expressions are not available here");
  }
}

/** JSONata throws plain objects. */
function wordsOf(error: unknown): string {
  const { message, position } = error as { message?: unknown; position?: unknown };
  const words = typeof message === "string" && message ? message : String(error);
  const short = words.length > WORDS ? `${words.slice(0, WORDS)}…` : words;
  return typeof position === "number" ? `${short} (at character ${position})` : short;
}
