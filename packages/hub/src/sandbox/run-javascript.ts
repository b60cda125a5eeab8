/**
 * Runs JavaScript in QuickJS compiled to WebAssembly. The code can call only one function of the
 * host, which appends a line to the log. Every evaluation uses a new WebAssembly instance, whose
 * maximum memory enforces the memory limit (QuickJS's own limit undercounts large blocks). Handles
 * are not disposed, because the whole instance is discarded.
 */
import variant from "@jitl/quickjs-wasmfile-release-sync";
import {
  LOG_LEVELS,
  type LogLine,
  MAX_LOG_LINE_CHARACTERS,
  MAX_LOG_LINES,
  MAX_OUTPUT_CHARACTERS,
  memoryLimitExceeded,
  outputTooLarge,
  type SerializedEvaluation,
  type SerializedResult,
  timeLimitExceeded,
} from "@signalbox/rules/flows/evaluation.ts";
import {
  type CustomizeVariantOptions,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";

export interface JavaScriptHost {
  /** The compiled module of QuickJS. */
  engine: WebAssembly.Module;
  /** Set if the host has no deadline for JSONata: how many steps count as one millisecond. */
  stepsPerMs?: number;
}

type JavaScriptEvaluation = Extract<SerializedEvaluation, { language: "javascript" }> & {
  data: string;
};
type WasmMemory = NonNullable<CustomizeVariantOptions["wasmMemory"]>;

/** TypeScript declares WebAssembly only in its DOM library. */
declare const WebAssembly: {
  Memory: new (pages: { initial: number; maximum: number }) => WasmMemory;
};

/** The types of the package describe its CommonJS module, where the default export is nested. */
const quickjsVariant = variant as unknown as QuickJSSyncVariant;

/** The initial memory of QuickJS. */
const MIN_MEMORY_MB = 16;
/** A page of WebAssembly memory has 64 KiB. */
const PAGES_PER_MB = 16;
const STACK_BYTES = 256 * 1024;

/**
 * QuickJS calls its interrupt handler after a fixed number of branches and calls. The CPU limit
 * counts these interrupts instead of reading the clock, which does not advance on Workers during a
 * computation. In a loop of function calls, this many interrupts take about one millisecond.
 */
const INTERRUPTS_PER_MS = 4;
/** A promise job causes few interrupts, so this many jobs count as one. */
const JOBS_PER_INTERRUPT = 100;

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
  { code, data, timeoutMs, memoryMb }: JavaScriptEvaluation,
  { engine }: JavaScriptHost,
): Promise<SerializedResult> {
  const log: LogLine[] = [];
  let interrupts = 0;
  const isTimedOut = () => interrupts > timeoutMs * INTERRUPTS_PER_MS;
  try {
    const vm = await createVm(engine, memoryMb);
    const write = vm.newFunction("write", (level, line) => {
      if (log.length < MAX_LOG_LINES)
        log.push({
          level: vm.getString(level) as LogLine["level"],
          text: JSON.parse(vm.getString(line)) as string,
        });
      else if (log.length === MAX_LOG_LINES) log.push({ level: "log", text: "… and more" });
    });
    const setUp = vm.unwrapResult(vm.evalCode(SETUP, "setup.js"));
    const setupFunctions = vm.unwrapResult(
      vm.callFunction(setUp, vm.undefined, vm.newString(data), write),
    );
    const run = vm.getProp(setupFunctions, "run");

    const interrupt = () => {
      interrupts += 1;
      return isTimedOut();
    };
    vm.runtime.setInterruptHandler(interrupt);
    const outcome = callParsed(vm, run, vm.evalCode(wrap(code), "code.js"), interrupt);
    if (isTimedOut()) return { log, ...timeLimitExceeded(timeoutMs) };
    if (outcome === "pending")
      return { log, error: "code_failed", message: "it waits for a promise that never settles" };
    if (outcome.error) {
      const message = describe(
        vm,
        outcome.error,
        linesOf(code),
        vm.getProp(setupFunctions, "quote"),
      );
      // A getter of the error may have exceeded the limit.
      if (isTimedOut()) return { log, ...timeLimitExceeded(timeoutMs) };
      if (message === OUT_OF_MEMORY) return { log, ...memoryLimitExceeded(memoryMb) };
      return { log, error: "code_failed", message };
    }
    const length = vm.getNumber(vm.getProp(outcome.value, "length"));
    return length > MAX_OUTPUT_CHARACTERS
      ? { log, ...outputTooLarge }
      : { log, output: vm.getString(outcome.value) };
  } catch (error) {
    // QuickJS itself failed. If it has no memory for an error, it throws null.
    const { message } = error as Error;
    return message === "null" || message.includes("memory")
      ? { log, ...memoryLimitExceeded(memoryMb) }
      : { log, error: "code_failed", message: `The engine failed: ${message}` };
  }
}

async function createVm(
  engine: JavaScriptHost["engine"],
  memoryMb: number,
): Promise<QuickJSContext> {
  const quickjs = await newQuickJSWASMModuleFromVariant(
    newVariant(quickjsVariant, {
      wasmModule: engine,
      wasmMemory: new WebAssembly.Memory({
        initial: MIN_MEMORY_MB * PAGES_PER_MB,
        maximum: Math.max(memoryMb, MIN_MEMORY_MB) * PAGES_PER_MB,
      }),
    }),
  );
  return quickjs.newRuntime({ maxStackSizeBytes: STACK_BYTES }).newContext();
}

type Outcome =
  | { value: QuickJSHandle; error?: undefined }
  | { error: QuickJSHandle; value?: undefined };

/**
 * Calls the parsed function, and runs promise jobs until its promise settles. "pending": no job is left,
 * so the promise never settles.
 */
function callParsed(
  vm: QuickJSContext,
  run: QuickJSHandle,
  parsed: Outcome,
  interrupt: () => boolean,
): Outcome | "pending" {
  const called = parsed.error ? parsed : vm.callFunction(run, vm.undefined, parsed.value);
  if (called.error) return called;
  let jobs = vm.runtime.executePendingJobs(JOBS_PER_INTERRUPT);
  while (!jobs.error && vm.runtime.hasPendingJob() && !interrupt())
    jobs = vm.runtime.executePendingJobs(JOBS_PER_INTERRUPT);
  const state = vm.getPromiseState(called.value);
  if (state.type === "fulfilled") return { value: state.value };
  if (state.type === "rejected") return { error: state.error };
  return jobs.error ? { error: jobs.error } : "pending";
}

/** Parses each text without running it. The output is an array of `{ problem? }`. */
export async function checkSyntax(
  { expressions }: Extract<SerializedEvaluation, { language: "javascript-syntax" }>,
  { engine }: JavaScriptHost,
): Promise<SerializedResult> {
  const results: { problem?: string }[] = [];
  let vm = await createVm(engine, PARSER_MEMORY_MB);
  for (const code of expressions)
    try {
      const parsed = vm.evalCode(wrap(code), "code.js", { compileOnly: true });
      results.push(parsed.error ? { problem: describe(vm, parsed.error, linesOf(code)) } : {});
    } catch (error) {
      // QuickJS itself failed, and this instance cannot be used again.
      const { message } = error as Error;
      results.push({
        problem:
          error instanceof RangeError ? "is nested too deeply" : `cannot be parsed: ${message}`,
      });
      vm = await createVm(engine, PARSER_MEMORY_MB);
    }
  return { log: [], output: JSON.stringify(results) };
}

/** The memory for syntax checks, which do not depend on the limit of a node. */
const PARSER_MEMORY_MB = 128;

const OUT_OF_MEMORY = "InternalError: out of memory";

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
  return Number.isNaN(line) || description === OUT_OF_MEMORY
    ? description
    : `${description} (line ${line})`;
}
