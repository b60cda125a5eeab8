/** The sandbox's threads on Node: worker threads with a heap limit and without environment. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { memoryLimitExceeded, type SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import {
  createThreadPool,
  READY,
  type Thread,
  type ThreadEvents,
  type ThreadPool,
} from "../../sandbox/thread-pool.ts";

/** For JSONata and schemas; QuickJS has a limit of its own. */
const HEAP_MB = 256;

export interface SandboxOptions {
  maxThreads?: number;
  graceMs?: number;
}

export const createSandbox = ({
  maxThreads = Math.min(5, Math.max(2, availableParallelism())),
  graceMs = 5000,
}: SandboxOptions = {}): ThreadPool =>
  createThreadPool({ startThread, after, maxThreads, graceMs });

const after = (ms: number, work: () => void) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

function startThread({ onReady, onResult, onExit }: ThreadEvents): Thread {
  const file = import.meta.url.endsWith(".ts") ? "sandbox-worker.ts" : "sandbox-worker.js";
  const worker = new Worker(new URL(file, import.meta.url), {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: 4 },
  });
  worker.on("message", (message: SerializedResult | typeof READY) =>
    message === READY ? onReady() : onResult(message),
  );
  worker.on("error", (error: NodeJS.ErrnoException) =>
    onExit(
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? { log: [], ...memoryLimitExceeded(HEAP_MB) }
        : error,
    ),
  );
  worker.on("exit", () => onExit(new Error("The thread of the sandbox has ended.")));
  return {
    post: (evaluation) => worker.postMessage(evaluation),
    setIdle: (isIdle) => (isIdle ? worker.unref() : worker.ref()),
    terminate: () => worker.terminate(),
  };
}
