import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import {
  type Evaluate,
  type Evaluated,
  type Evaluation,
  type EvaluationAsker,
  MOST_DATA,
  MOST_DEPTH,
  READY,
  type SpelledEvaluated,
  type SpelledEvaluation,
  tookTooLong,
  tookTooMuch,
  tooMuchData,
} from "@signalbox/rules/flows/evaluation.ts";
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { runJsonataBriefly } from "@signalbox/rules/flows/run-jsonata.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { createTurns } from "../../sandbox/turns.ts";

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
  /** It has a thread that works on it. */
  begin(): void;
  settle(evaluated: SpelledEvaluated): void;
  fail(error: unknown): void;
}

type Thread = (job: Job) => void;

/** JSONata's data lies on the thread's own heap; QuickJS has memory of its own. */
const HEAP_MB = 256;

/**
 * Threads for code of flows, so that a loop without end holds up only whoever waits for a thread,
 * never what arrives. A thread does one piece at a time; one that hangs is ended and replaced. How
 * much waits has no limit of its own: it is one piece for each step at work, in runs of which there
 * are `SIGNALBOX_RUNS_AT_ONCE`, and one for whoever waits for a result.
 */
export function createSandbox({
  atOnce = Math.min(4, Math.max(1, availableParallelism() - 1)),
  graceMs = 5000,
}: SandboxOptions = {}): Sandbox {
  const threads = new Set<Worker>();
  const idle: Thread[] = [];
  const waiting = createTurns<Job>();
  let closed = false;

  const next = () => {
    while (!closed && (idle.length > 0 || threads.size < atOnce)) {
      const job = waiting.next();
      if (!job) return;
      (idle.pop() ?? start())(job);
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
    const watch = ({ evaluation: { timeoutMs }, begin }: Job) => {
      begin();
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

  const inThread = (
    evaluation: SpelledEvaluation,
    { tenant, signal, hold = () => () => {} }: EvaluationAsker,
  ) =>
    new Promise<SpelledEvaluated>((resolve, reject) => {
      if (closed) throw new Error("The hub is stopping.");
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const done = () => signal.removeEventListener("abort", onAbort);
      const leave = waiting.add(tenant, {
        evaluation,
        begin: hold(),
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
    async evaluate({ data, ...rest }: Evaluation, asker) {
      const { signal } = asker;
      signal.throwIfAborted();
      const evaluation = { ...rest, data: JSON.stringify(data) };
      if (evaluation.data.length > MOST_DATA) return { log: [], ...tooMuchData };
      const evaluated = await runJsonataBriefly(evaluation);
      signal.throwIfAborted();
      return read(evaluated ?? (await inThread(evaluation, asker)));
    },
    async close() {
      closed = true;
      const stopping = new Error("The hub is stopping.");
      for (let job = waiting.next(); job; job = waiting.next()) job.fail(stopping);
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
