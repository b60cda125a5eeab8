/**
 * JavaScript in QuickJS, which is WebAssembly: it has no way to the host but the functions that it
 * is given, and here that is one, which takes a line of the log. Each evaluation gets an instance of
 * its own, with memory that cannot grow beyond the limit. (The engine's own limit counts large
 * blocks as if they were small.) Nothing is cleaned up: all of it is thrown away.
 */
import variant from "@jitl/quickjs-wasmfile-release-sync";
import {
  LOG_LEVELS,
  type LogLine,
  MOST_LOG_LETTERS,
  MOST_LOG_LINES,
  MOST_OUTPUT,
  type SpelledEvaluated,
  type SpelledEvaluation,
  tookTooLong,
  tookTooMuch,
  tooLarge,
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
  /** The engine, compiled. */
  engine: WebAssembly.Module;
  /** Of this thread, in milliseconds. */
  cpuTime(): number;
}

type WasmMemory = NonNullable<CustomizeVariantOptions["wasmMemory"]>;

/** TypeScript knows WebAssembly from the DOM only. */
declare const WebAssembly: {
  Memory: new (pages: { initial: number; maximum: number }) => WasmMemory;
};

/** Its types are those of CommonJS, where the default export lies one level deeper. */
const release = variant as unknown as QuickJSSyncVariant;

/** The least that the engine starts with. */
const LEAST_MEMORY_MB = 16;
const PAGES_PER_MB = 16;
const STACK_BYTES = 256 * 1024;

/** What else people call of a `console`. */
const LIKE_LOG =
  "table trace dir dirxml group groupCollapsed groupEnd count countReset time timeLog timeEnd clear".split(
    " ",
  );

/** In there, and before any foreign code: what it uses cannot be changed under its hands any more. */
const SETUP = `(function (text, write) {
  "use strict";
  const { parse, stringify } = JSON, { freeze, values } = Object, PromiseOf = Promise, text_of = String;
  const ErrorOf = Error, MapOf = Map, SetOf = Set;
  const cut = Function.prototype.call.bind(String.prototype.slice);
  const data = parse(text), waiting = [data];
  for (let at = 0; at < waiting.length; at++) {
    freeze(waiting[at]);
    for (const one of values(waiting[at])) if (typeof one === "object" && one !== null) waiting[waiting.length] = one;
  }
  const show = (one) => {
    if (typeof one === "bigint" || one instanceof ErrorOf) return text_of(one);
    return one instanceof MapOf || one instanceof SetOf ? [...one] : one;
  };
  const spell = (one) => {
    try {
      const shown = show(one);
      return typeof shown === "string" ? shown : (stringify(shown, (_, part) => show(part)) ?? text_of(one));
    } catch {}
    try { return text_of(one); } catch {}
    return "(cannot be shown)";
  };
  const log = (level, parts) => {
    let line = "";
    for (let at = 0; at < parts.length; at++) line += (at > 0 ? " " : "") + spell(parts[at]);
    write(level, stringify(line.length > ${MOST_LOG_LETTERS} ? cut(line, 0, ${MOST_LOG_LETTERS}) + "…" : line));
  };
  const console = {};
  for (const other of ${JSON.stringify(LIKE_LOG)}) console[other] = (...parts) => log("log", parts);
  for (const level of ${JSON.stringify(LOG_LEVELS)}) console[level] = (...parts) => log(level, parts);
  console.assert = (holds, ...parts) => { if (!holds) log("error", ["Assertion failed:", ...parts]); };
  freeze(console);
  const run = (code) => {
    const result = code(data.input, data.trigger, data.nodes, data.item, data.index, console);
    if (result instanceof PromiseOf) throw new TypeError("the code gives a promise; it must return its result itself");
    return stringify(result) ?? "null";
  };
  const quote = (text) => stringify(cut(text, 0, ${MOST_LOG_LETTERS}));
  return { run, quote };
})`;

/** `return` may be used anywhere in it. On the same line, so that errors name the right one. */
const wrap = (code: string): string =>
  `(function (input, trigger, nodes, item, index, console) { "use strict"; ${code}\n})`;

export async function runJavaScript(
  { code, data, timeoutMs, memoryMb }: SpelledEvaluation,
  { engine, cpuTime }: JavaScriptHost,
): Promise<SpelledEvaluated> {
  const log: LogLine[] = [];
  let isOverTime = false;
  try {
    const quickjs = await newQuickJSWASMModuleFromVariant(
      newVariant(release, {
        wasmModule: engine,
        wasmMemory: new WebAssembly.Memory({
          initial: LEAST_MEMORY_MB * PAGES_PER_MB,
          maximum: Math.max(memoryMb, LEAST_MEMORY_MB) * PAGES_PER_MB,
        }),
      }),
    );
    const runtime = quickjs.newRuntime({ maxStackSizeBytes: STACK_BYTES });
    const vm = runtime.newContext();
    const write = vm.newFunction("write", (level, line) => {
      if (log.length < MOST_LOG_LINES)
        log.push({
          level: vm.getString(level) as LogLine["level"],
          text: JSON.parse(vm.getString(line)) as string,
        });
      else if (log.length === MOST_LOG_LINES) log.push({ level: "log", text: "… and more" });
    });
    const setUp = vm.unwrapResult(vm.evalCode(SETUP, "setup.js"));
    const made = vm.unwrapResult(vm.callFunction(setUp, vm.undefined, vm.newString(data), write));
    const run = vm.getProp(made, "run");

    const started = cpuTime();
    runtime.setInterruptHandler(() => {
      isOverTime ||= cpuTime() - started > timeoutMs;
      return isOverTime;
    });
    const read = vm.evalCode(wrap(code), "code.js");
    const done = read.error ? read : vm.callFunction(run, vm.undefined, read.value);
    if (isOverTime) return { log, ...tookTooLong(timeoutMs) };
    if (done.error) {
      const message = describe(vm, done.error, vm.getProp(made, "quote"));
      if (isOverTime) return { log, ...tookTooLong(timeoutMs) }; // its words were a trap
      if (message === OUT_OF_MEMORY) return { log, ...tookTooMuch(memoryMb) };
      return { log, fault: "code_failed", message };
    }
    const length = vm.getNumber(vm.getProp(done.value, "length"));
    return length > MOST_OUTPUT ? { log, ...tooLarge } : { log, output: vm.getString(done.value) };
  } catch (error) {
    // The engine itself gave up; where there is no memory even for its error, that is null.
    const { message } = error as Error;
    return message === "null" || message.includes("memory")
      ? { log, ...tookTooMuch(memoryMb) }
      : { log, fault: "code_failed", message: `The engine gave up: ${message}` };
  }
}

const OUT_OF_MEMORY = "InternalError: out of memory";

/** What was thrown can be anything, and its properties can be code. */
function describe(vm: QuickJSContext, thrown: QuickJSHandle, quote: QuickJSHandle): string {
  const text = (handle: QuickJSHandle): string => {
    if (vm.typeof(handle) !== "string") return "";
    // Out of there a text comes as C has it, which ends at U+0000: as JSON, it has none.
    const quoted = vm.callFunction(quote, vm.undefined, handle);
    return quoted.error
      ? vm.getString(handle).slice(0, MOST_LOG_LETTERS)
      : (JSON.parse(vm.getString(quoted.value)) as string);
  };
  if (vm.typeof(thrown) !== "object" || vm.eq(thrown, vm.null))
    return `throws ${text(thrown) || String(vm.dump(thrown)).slice(0, MOST_LOG_LETTERS)}`;
  const part = (name: string) => text(vm.getProp(thrown, name));
  const [name, message, stack] = [part("name"), part("message"), part("stack")];
  const line = /code\.js:(\d+)/.exec(stack)?.[1];
  const words = `${name || "throws an object"}${message && `: ${message}`}`;
  return line === undefined || words === OUT_OF_MEMORY ? words : `${words} (line ${line})`;
}
