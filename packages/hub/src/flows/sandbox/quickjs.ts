/** Opens instances of QuickJS, compiled to WebAssembly, and reports which limit they have exceeded. */
import variant from "@jitl/quickjs-wasmfile-release-sync";
import {
  type CustomizeVariantOptions,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";

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
 * QuickJS calls its interrupt handler after a fixed number of branches and calls, also inside regular
 * expressions. The CPU limit counts these interrupts instead of reading the clock, which does not
 * advance on Workers during a computation. In a loop of function calls, this many interrupts take about
 * one millisecond.
 */
const INTERRUPTS_PER_MS = 4;
/** A promise job causes few interrupts, so this many jobs count as one. */
const JOBS_PER_INTERRUPT = 100;

export type QuickJSEngine = WebAssembly.Module;

type Outcome =
  | { value: QuickJSHandle; error?: undefined }
  | { error: QuickJSHandle; value?: undefined };

export interface Vm {
  context: QuickJSContext;
  /** Sets the CPU limit. Without this call there is none. */
  limitTime(timeoutMs: number): void;
  isTimedOut(): boolean;
  /** Counts `interrupts` against the time limit. */
  spendTime(interrupts: number): void;
  /**
   * Whether the memory limit has rejected an allocation. QuickJS then throws "out of memory", or null if
   * it has no memory for an error.
   */
  isOutOfMemory(): boolean;
  memoryBytes(): number;
  /**
   * Runs promise jobs until the promise settles. "pending": no job is left, or the time limit is
   * exceeded.
   */
  settle(promise: QuickJSHandle): Outcome | "pending";
}

/** The maximum size of the WebAssembly memory is the limit: QuickJS's own limit undercounts large blocks. */
export async function openVm(engine: QuickJSEngine, memoryMb: number): Promise<Vm> {
  const memory = new WebAssembly.Memory({
    initial: MIN_MEMORY_MB * PAGES_PER_MB,
    maximum: Math.max(memoryMb, MIN_MEMORY_MB) * PAGES_PER_MB,
  });
  let isOutOfMemory = false;
  const grow = memory.grow.bind(memory);
  memory.grow = (pages: number) => {
    try {
      return grow(pages);
    } catch (error) {
      isOutOfMemory = true;
      throw error;
    }
  };
  const quickjs = await newQuickJSWASMModuleFromVariant(
    newVariant(quickjsVariant, { wasmModule: engine, wasmMemory: memory }),
  );
  const runtime = quickjs.newRuntime({ maxStackSizeBytes: STACK_BYTES });
  const context = runtime.newContext();
  let interrupts = 0;
  let maxInterrupts = Number.POSITIVE_INFINITY;
  const isTimedOut = () => interrupts > maxInterrupts;
  const interrupt = () => {
    interrupts += 1;
    return isTimedOut();
  };
  return {
    context,
    limitTime(timeoutMs) {
      interrupts = 0;
      maxInterrupts = timeoutMs * INTERRUPTS_PER_MS;
      runtime.setInterruptHandler(interrupt);
    },
    isTimedOut,
    spendTime(spent) {
      interrupts += spent;
    },
    isOutOfMemory: () => isOutOfMemory,
    memoryBytes: () => memory.buffer.byteLength,
    settle(promise) {
      let jobs = runtime.executePendingJobs(JOBS_PER_INTERRUPT);
      while (!jobs.error && runtime.hasPendingJob() && !interrupt())
        jobs = runtime.executePendingJobs(JOBS_PER_INTERRUPT);
      const state = context.getPromiseState(promise);
      if (state.type === "fulfilled") return { value: state.value };
      if (state.type === "rejected") return { error: state.error };
      return jobs.error ? { error: jobs.error } : "pending";
    },
  };
}

/**
 * Whether the stack of the host has overflowed: some recursive functions of QuickJS, such as
 * `JSON.stringify`, use it up before they reach QuickJS's own limit. The instance cannot be used again.
 */
export const isStackOverflow = (error: unknown): boolean => error instanceof RangeError;

export const STACK_OVERFLOW =
  "stack overflow: a value is nested too deeply, or a function calls itself too often";
