/**
 * Runs JavaScript in QuickJS. The code can call only one function of the host, which appends a line to
 * the log. Every evaluation uses a new instance. Handles are not disposed, because the whole instance is
 * discarded.
 */
import {
  LOG_LEVELS,
  type LogLine,
  MAX_LOG_LINE_CHARACTERS,
  MAX_LOG_LINES,
  MAX_OUTPUT_CHARACTERS,
  memoryLimitExceeded,
  outputTooLarge,
  type SerializedProgram,
  type SerializedResult,
  timeLimitExceeded,
} from "@signalbox/rules/flows/evaluation.ts";
import type { QuickJSContext, QuickJSHandle } from "quickjs-emscripten-core";
import { isStackOverflow, openVm, type QuickJSEngine, STACK_OVERFLOW } from "./quickjs.ts";

export interface JavaScriptHost {
  /** The compiled module of QuickJS. */
  engine: QuickJSEngine;
}

type JavaScriptProgram = Extract<SerializedProgram, { job: "javascript" }>;

/** Methods of `console` that behave like `console.log`. */
const LOG_ALIASES =
  "table trace dir dirxml group groupCollapsed groupEnd count countReset time timeLog timeEnd clear".split(
    " ",
  );

/**
 * Runs in QuickJS before the author's code. It captures the built-ins, because that code may
 * replace them.
 */
const SETUP = `(function (json, write) {
  "use strict";
  const { parse, stringify } = JSON, { freeze, values } = Object, toText = String;
  const BuiltinError = Error, BuiltinMap = Map, BuiltinSet = Set;
  const slice = Function.prototype.call.bind(String.prototype.slice);
  const data = parse(json), objects = [data];
  for (let index = 0; index < objects.length; index++) {
    freeze(objects[index]);
    for (const member of values(objects[index])) if (typeof member === "object" && member !== null) objects[objects.length] = member;
  }
  const toSerializable = (value) => {
    if (typeof value === "bigint" || value instanceof BuiltinError) return toText(value);
    return value instanceof BuiltinMap || value instanceof BuiltinSet ? [...value] : value;
  };
  const format = (value) => {
    try {
      const serializable = toSerializable(value);
      return typeof serializable === "string" ? serializable : (stringify(serializable, (_, member) => toSerializable(member)) ?? toText(value));
    } catch {}
    try { return toText(value); } catch {}
    return "(cannot be shown)";
  };
  const log = (level, args) => {
    let line = "";
    for (let index = 0; index < args.length; index++) line += (index > 0 ? " " : "") + format(args[index]);
    write(level, stringify(line.length > ${MAX_LOG_LINE_CHARACTERS} ? slice(line, 0, ${MAX_LOG_LINE_CHARACTERS}) + "…" : line));
  };
  const console = {};
  for (const alias of ${JSON.stringify(LOG_ALIASES)}) console[alias] = (...args) => log("log", args);
  for (const level of ${JSON.stringify(LOG_LEVELS)}) console[level] = (...args) => log(level, args);
  console.assert = (condition, ...args) => { if (!condition) log("error", ["Assertion failed:", ...args]); };
  freeze(console);
  const run = async (code) =>
    stringify(await code(data.input, data.trigger, data.nodes, data.item, data.index, console)) ?? "null";
  const quote = (text) => stringify(slice(text, 0, ${MAX_LOG_LINE_CHARACTERS}));
  return { run, quote };
})`;

/**
 * Wraps the code in an async function, so that `return` and `await` work. The code starts on the first
 * line, so that line numbers are correct.
 */
const wrap = (code: string): string =>
  `(async function (input, trigger, nodes, item, index, console) { "use strict"; ${code}\n})`;

export async function runJavaScript(
  { code, data, timeoutMs, memoryMb }: JavaScriptProgram,
  { engine }: JavaScriptHost,
): Promise<SerializedResult> {
  const log: LogLine[] = [];
  const vm = await openVm(engine, memoryMb);
  const { context } = vm;
  const failed = (message: string): SerializedResult => {
    if (vm.isTimedOut()) return { log, ...timeLimitExceeded(timeoutMs) };
    if (OUT_OF_MEMORY.test(message) || (vm.isOutOfMemory() && MAYBE_OUT_OF_MEMORY.test(message)))
      return { log, ...memoryLimitExceeded(memoryMb) };
    return { log, error: "code_failed", message };
  };
  try {
    const write = context.newFunction("write", (level, line) => {
      if (log.length < MAX_LOG_LINES)
        log.push({
          level: context.getString(level) as LogLine["level"],
          text: JSON.parse(context.getString(line)) as string,
        });
      else if (log.length === MAX_LOG_LINES) log.push({ level: "log", text: "… and more" });
    });
    const setUp = context.unwrapResult(context.evalCode(SETUP, "setup.js"));
    const setupFunctions = context.unwrapResult(
      context.callFunction(setUp, context.undefined, context.newString(data), write),
    );
    const run = context.getProp(setupFunctions, "run");

    vm.limitTime(timeoutMs);
    const parsed = context.evalCode(wrap(code), "code.js");
    const called = parsed.error
      ? parsed
      : context.callFunction(run, context.undefined, parsed.value);
    const outcome = called.error ? called : vm.settle(called.value);
    if (vm.isTimedOut()) return failed("");
    if (outcome === "pending") return failed(NEVER_SETTLES);
    if (outcome.error) {
      const quote = context.getProp(setupFunctions, "quote");
      return failed(describe(context, outcome.error, linesOf(code), quote));
    }
    const length = context.getNumber(context.getProp(outcome.value, "length"));
    return length > MAX_OUTPUT_CHARACTERS
      ? { log, ...outputTooLarge }
      : { log, output: context.getString(outcome.value) };
  } catch (error) {
    // QuickJS itself failed.
    if (isStackOverflow(error)) return failed(STACK_OVERFLOW);
    const { message } = error as Error;
    return failed(`The engine failed: ${message}`);
  }
}

const NEVER_SETTLES = "it waits for a promise that never settles";

const OUT_OF_MEMORY = /^InternalError: out of memory/;

/**
 * What the code can end with after an allocation has failed. QuickJS throws null if it has no memory for
 * an error, and drops a promise job if it has none for the job.
 */
const MAYBE_OUT_OF_MEMORY = new RegExp(`memory|^throws null$|: null$|^${NEVER_SETTLES}$`);

/** Parses each text without running it. The output is an array of `{ problem? }`. */
export async function checkSyntax(
  { expressions }: Extract<SerializedProgram, { job: "javascript-syntax" }>,
  { engine }: JavaScriptHost,
): Promise<SerializedResult> {
  const results: { problem?: string }[] = [];
  let { context } = await openVm(engine, PARSER_MEMORY_MB);
  for (const code of expressions)
    try {
      const parsed = context.evalCode(wrap(code), "code.js", { compileOnly: true });
      results.push(parsed.error ? { problem: describe(context, parsed.error, linesOf(code)) } : {});
    } catch (error) {
      // QuickJS itself failed, and this instance cannot be used again.
      const { message } = error as Error;
      results.push({
        problem: isStackOverflow(error) ? "is nested too deeply" : `cannot be parsed: ${message}`,
      });
      ({ context } = await openVm(engine, PARSER_MEMORY_MB));
    }
  return { log: [], output: JSON.stringify(results) };
}

/** The memory for syntax checks, which do not depend on the limit of a node. */
const PARSER_MEMORY_MB = 128;

const linesOf = (code: string): number => code.split("\n").length;

/** Describes a thrown value, which can have any type and getters as properties. */
function describe(
  vm: QuickJSContext,
  thrown: QuickJSHandle,
  lines: number,
  quote?: QuickJSHandle,
): string {
  const text = (handle: QuickJSHandle): string => {
    if (vm.typeof(handle) !== "string") return "";
    // `getString` reads a C string, which ends at U+0000. JSON escapes this character.
    const quoted = quote && vm.callFunction(quote, vm.undefined, handle);
    return !quoted || quoted.error
      ? vm.getString(handle).slice(0, MAX_LOG_LINE_CHARACTERS)
      : (JSON.parse(vm.getString(quoted.value)) as string);
  };
  if (vm.typeof(thrown) !== "object" || vm.eq(thrown, vm.null))
    return `throws ${text(thrown) || String(vm.dump(thrown)).slice(0, MAX_LOG_LINE_CHARACTERS)}`;
  const property = (name: string) => text(vm.getProp(thrown, name));
  const [name, message, stack] = [property("name"), property("message"), property("stack")];
  const line = Number(/code\.js:(\d+)/.exec(stack)?.[1]);
  // The parser has reached the end of the function around the code.
  if (name === "SyntaxError" && line > lines)
    return `${name}: unexpected end of the code (line ${lines})`;
  const description = `${name || "throws an object"}${message && `: ${message}`}`;
  return Number.isNaN(line) ? description : `${description} (line ${line})`;
}
