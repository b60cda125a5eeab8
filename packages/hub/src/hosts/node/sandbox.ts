import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { isDeeperThan } from "../../flows/model.ts";
import type { Json } from "../../lib/json.ts";
import {
  type Evaluate,
  type Evaluated,
  type Evaluation,
  MOST_DATA,
  MOST_DEPTH,
  READY,
  type SpelledEvaluated,
  type SpelledEvaluation,
  tookTooLong,
  tookTooMuch,
  tooMuchData,
} from "../../sandbox/evaluation.ts";
import { runJsonataBriefly } from "../../sandbox/run-jsonata.ts";

export interface SandboxOptions {
  /** Threads, which start when they are first needed. */
  atOnce?: number;
  /** How much longer than its own limit a piece of code may take before its thread is ended. */
  graceMs?: number;
}

export interface Sandbox {
  evaluate: Evaluate;
  close(): Promise<void>;
}

interface Job {
  evaluation: SpelledEvaluation;
  signal: AbortSignal;
  settle(evaluated: SpelledEvaluated): void;
  fail(error: unknown): void;
}

type Thread = (job: Job) => void;

/** JSONata's data lies on the thread's own heap; QuickJS has memory of its own. */
const HEAP_MB = 256;

/**
 * Threads for code of flows, so that a loop without end holds up only whoever waits for a thread,
 * never what arrives. A thread does one piece at a time; one that hangs is ended and replaced.
 */
export function createSandbox({
  atOnce = Math.min(4, Math.max(1, availableParallelism() - 1)),
  graceMs = 5000,
}: SandboxOptions = {}): Sandbox {
  const threads = new Set<Worker>();
  const idle: Thread[] = [];
  const waiting: Job[] = [];
  let closed = false;

  const next = () => {
    while (!closed && waiting.length > 0 && (idle.length > 0 || threads.size < atOnce)) {
      const job = waiting.shift() as Job;
      if (!job.signal.aborted) (idle.pop() ?? start())(job);
    }
  };

  /** Answers with how to give it work. */
  const start = (): Thread => {
    const file = import.meta.url.endsWith(".ts") ? "sandbox-worker.ts" : "sandbox-worker.js";
    const worker = new Worker(new URL(file, import.meta.url), {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: 4 },
    });
    let job: Job | undefined;
    let isReady = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (tell: (job: Job) => void) => {
      clearTimeout(timer);
      if (job) tell(job);
      job = undefined;
    };
    /** What state it is in is not known: another one takes its place. */
    const drop = (tell: (job: Job) => void) => {
      threads.delete(worker);
      void worker.terminate();
      end(tell);
      next();
    };
    /** Not before it is ready: starting is no fault of the code's. */
    const watch = ({ evaluation: { timeoutMs } }: Job) => {
      timer = setTimeout(
        () => drop(({ settle }) => settle({ log: [], ...tookTooLong(timeoutMs) })),
        timeoutMs + graceMs,
      );
    };
    const thread: Thread = (given) => {
      job = given;
      if (isReady) watch(job);
      worker.ref();
      worker.postMessage(given.evaluation);
    };
    worker.on("message", (message: SpelledEvaluated | typeof READY) => {
      if (message === READY) {
        isReady = true;
        if (job) watch(job);
        return;
      }
      worker.unref();
      end(({ settle }) => settle(message));
      idle.push(thread);
      next();
    });
    worker.on("error", (error: NodeJS.ErrnoException) =>
      drop(({ settle, fail }) =>
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? settle({ log: [], ...tookTooMuch(HEAP_MB) })
          : fail(error),
      ),
    );
    worker.on("exit", () => {
      if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1);
      drop(({ fail }) => fail(new Error("The thread that runs code has ended.")));
    });
    threads.add(worker);
    return thread;
  };

  const inThread = (evaluation: SpelledEvaluation, signal: AbortSignal) =>
    new Promise<SpelledEvaluated>((resolve, reject) => {
      if (closed) throw new Error("The hub is stopping.");
      const onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      const done = () => signal.removeEventListener("abort", onAbort);
      waiting.push({
        evaluation,
        signal,
        settle(evaluated) {
          done();
          resolve(evaluated);
        },
        fail(error) {
          done();
          reject(error);
        },
      });
      next();
    });

  return {
    async evaluate({ data, ...rest }: Evaluation, signal) {
      signal.throwIfAborted();
      const evaluation = { ...rest, data: JSON.stringify(data) };
      if (evaluation.data.length > MOST_DATA) return { log: [], ...tooMuchData };
      const evaluated = await runJsonataBriefly(evaluation);
      signal.throwIfAborted();
      return read(evaluated ?? (await inThread(evaluation, signal)));
    },
    async close() {
      closed = true;
      const stopping = new Error("The hub is stopping.");
      for (const { fail } of waiting.splice(0)) fail(stopping);
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}

function read(evaluated: SpelledEvaluated): Evaluated {
  if ("fault" in evaluated) return evaluated;
  const output = JSON.parse(evaluated.output) as Json;
  return isDeeperThan(MOST_DEPTH, output)
    ? {
        log: evaluated.log,
        fault: "output_too_large",
        message: `gives JSON nested deeper than ${MOST_DEPTH} levels`,
      }
    : { log: evaluated.log, output };
}
