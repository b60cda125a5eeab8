/**
 * Parses and evaluates JSONata. Both can take unbounded time, so this code runs only inside an
 * evaluator, which enforces a limit: see flows/evaluation.ts.
 */
import jsonata from "jsonata";
import type { Json } from "../json.ts";

const compiled = new Map<string, jsonata.Expression>();
const MAX_COMPILED = 1_000;
/** An expression that takes longer to parse has a large syntax tree, and is not cached. */
const MAX_CACHED_COMPILE_MS = 2;
/** Messages are limited because they are stored with verdicts and steps. */
const MAX_MESSAGE_CHARACTERS = 1000;

/** JSONata calls the function that is bound to this symbol after it has evaluated a node of the syntax tree. */
const AFTER_NODE = Symbol.for("jsonata.__evaluate_exit") as unknown as string;
let onResult: ((result: unknown) => void) | undefined;

/** For hosts without deadlines: calls the function with the result of each node. It may not return. */
export function onEachResult(observe: (result: unknown) => void): void {
  onResult = observe;
}

/** Throws JSONata's own errors, which `describeError` converts to messages. */
export function compileExpression(text: string): jsonata.Expression {
  const cached = compiled.get(text);
  if (cached) {
    // The least recently used expression is the first one.
    compiled.delete(text);
    compiled.set(text, cached);
    return cached;
  }
  const start = Date.now();
  const expression = jsonata(text);
  if (onResult) {
    const observe = onResult;
    expression.assign(
      AFTER_NODE,
      (_node: unknown, _input: unknown, _frame: unknown, result: unknown) => observe(result),
    );
  }
  if (Date.now() - start > MAX_CACHED_COMPILE_MS) return expression;
  const [oldest] = compiled.keys();
  if (oldest !== undefined && compiled.size >= MAX_COMPILED) compiled.delete(oldest);
  compiled.set(text, expression);
  return expression;
}

export async function evaluateExpression(
  text: string,
  data: Json,
): Promise<{ value: unknown } | { problem: string }> {
  try {
    return { value: (await compileExpression(text).evaluate(data)) as unknown };
  } catch (error) {
    return { problem: describeError(error) };
  }
}

/** JSONata throws plain objects with a message and a position. */
export function describeError(error: unknown): string {
  const { message, position } = error as { message?: unknown; position?: unknown };
  const full = typeof message === "string" && message ? message : String(error);
  const short =
    full.length > MAX_MESSAGE_CHARACTERS ? `${full.slice(0, MAX_MESSAGE_CHARACTERS)}…` : full;
  return typeof position === "number" ? `${short} (at character ${position})` : short;
}

/** JSONata represents functions as objects that reference their whole environment. */
export const isJsonataFunction = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  ("_jsonata_lambda" in value || "_jsonata_function" in value);
