/**
 * Evaluates expressions and schemas of authors inside QuickJS, for hosts that cannot interrupt an
 * evaluation. QuickJS counts the steps of everything that runs in it, also of regular expressions, and
 * limits its memory. One instance evaluates all programs, because it takes tens of milliseconds to load
 * the script. After an evaluation that exceeded a limit, a new instance replaces it.
 */
import {
  memoryLimitExceeded,
  type SerializedResult,
  timeLimitExceeded,
} from "@signalbox/rules/flows/evaluation.ts";
import { Scope } from "quickjs-emscripten-core";
import type { AuthorProgram, RunIsolated } from "./author-programs.ts";
import { isStackOverflow, openVm, type QuickJSEngine, STACK_OVERFLOW, type Vm } from "./quickjs.ts";

/** Below the 128 MB that Cloudflare allows for an isolate with all its instances and other data. */
const MEMORY_MB = 64;
/** WebAssembly memory never shrinks, so a larger instance is replaced. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/**
 * QuickJS counts a call of a built-in function as one step, so a long text or list counts as more. A
 * built-in function handles about this many characters or items in the time of one interrupt.
 */
const SIZE_PER_INTERRUPT = 50_000;

const createNatives = (vm: Vm) => ({
  /** Returns true if the time limit is exceeded. */
  spendTime(size: number): boolean {
    vm.spendTime(size / SIZE_PER_INTERRUPT);
    return vm.isTimedOut();
  },
  resolveUrl(reference: string, base: string | null, hash: string | null) {
    const url = new URL(reference, base ?? undefined);
    if (hash !== null) url.hash = hash;
    return { href: url.href, hash: url.hash };
  },
  // Like Node's `Buffer`, which JSONata uses there: the lower byte of each character.
  btoa: (text: string) =>
    btoa(text.replace(/[^\0-\xff]/g, (unit) => String.fromCharCode(unit.charCodeAt(0) & 0xff))),
  // Also base64url, and without the characters that are not base64.
  atob(base64: string) {
    const digits = base64
      .replace(/-/g, "+")
      .replace(/_/g, "/")
      .replace(/[^A-Za-z0-9+/]/g, "");
    return atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
  },
});
/** The functions of the host that programs can call. */
export type Natives = ReturnType<typeof createNatives>;

/** `script`: the bundle of isolated-programs.ts. */
export function createRunIsolated(engine: QuickJSEngine, script: string): RunIsolated {
  let current: { vm: Promise<Vm>; isNew: boolean } | undefined;
  return async function run(program) {
    current ??= { vm: openLoaded(engine, script), isNew: true };
    const instance = current;
    const discard = () => {
      if (current === instance) current = undefined;
    };
    const vm = await instance.vm.catch((error: unknown) => {
      discard();
      throw error;
    });
    // Another evaluation has discarded the instance.
    if (current !== instance) return run(program);
    const { isNew } = instance;
    instance.isNew = false;
    // From here on, the evaluation is synchronous: evaluations in one instance do not overlap.
    const result = evaluate(vm, program);
    if (!result || vm.memoryBytes() > MAX_KEPT_BYTES) discard();
    if (result) return result;
    if (vm.isTimedOut()) return { log: [], ...timeLimitExceeded(program.timeoutMs) };
    // The values that earlier evaluations have left in an instance must not fail this one.
    if (!isNew) return run(program);
    return vm.isOutOfMemory()
      ? { log: [], ...memoryLimitExceeded(MEMORY_MB) }
      : { log: [], error: "code_failed", message: STACK_OVERFLOW };
  };
}

async function openLoaded(engine: QuickJSEngine, script: string): Promise<Vm> {
  const vm = await openVm(engine, MEMORY_MB);
  const { context } = vm;
  const natives = createNatives(vm);
  Scope.withScope((scope) => {
    const native = scope.manage(
      context.newFunction("native", (name, args) => {
        const call = natives[context.getString(name) as keyof Natives] as (
          ...args: unknown[]
        ) => unknown;
        return context.newString(JSON.stringify(call(...JSON.parse(context.getString(args)))));
      }),
    );
    context.setProp(context.global, "native", native);
    scope.manage(context.unwrapResult(context.evalCode(script, "programs.js")));
  });
  return vm;
}

/** Returns undefined if the evaluation has exceeded a limit. The instance cannot be used again then. */
function evaluate(
  vm: Vm,
  { data, timeoutMs, ...program }: AuthorProgram,
): SerializedResult | undefined {
  const { context } = vm;
  try {
    return Scope.withScope((scope) => {
      const call = scope.manage(context.getProp(context.global, "evaluate"));
      const args = [JSON.stringify(program), data].map((text) =>
        scope.manage(context.newString(text)),
      );
      vm.limitTime(timeoutMs);
      const called = context.callFunction(call, context.undefined, ...args);
      const outcome = called.error ? called : vm.settle(scope.manage(called.value));
      if (outcome === "pending" || outcome.error || vm.isTimedOut()) return undefined;
      const result = JSON.parse(context.getString(scope.manage(outcome.value)));
      // The program may have caught the error of a failed allocation, and reported it as its own.
      return vm.isOutOfMemory() ? undefined : (result as SerializedResult);
    });
  } catch (error) {
    // QuickJS itself failed.
    if (vm.isOutOfMemory() || isStackOverflow(error)) return undefined;
    throw error;
  }
}
