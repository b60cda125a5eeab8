/**
 * Evaluates in threads, so that a program that does not end blocks one thread and never the event
 * loop. A thread evaluates one program at a time; one that exceeds its deadline is terminated and
 * replaced. Waiting evaluations are queued per tenant and language, and no queue occupies every
 * thread: filters of arriving events do not wait behind the code of flows.
 *
 * The queues have no size limit: a caller awaits each evaluation, so they are bounded by the runs
 * and requests in progress.
 */
import {
  type Evaluate,
  type EvaluationCaller,
  type SerializedEvaluation,
  type SerializedResult,
  timeLimitExceeded,
} from "@signalbox/rules/flows/evaluation.ts";
import { createFairQueue } from "./fair-queue.ts";
import { throughJson } from "./serialize.ts";

/** The first message that a thread posts. */
export const READY = "ready";

export interface Thread {
  post(evaluation: SerializedEvaluation): void;
  /** An idle thread does not keep the process alive. */
  setIdle(isIdle: boolean): void;
  terminate(): Promise<unknown>;
}

export interface ThreadEvents {
  /** The thread has started and can evaluate. */
  onReady(): void;
  onResult(result: SerializedResult): void;
  /** The thread has ended; what it was evaluating has this result, or fails with this error. */
  onExit(reason: SerializedResult | Error): void;
}

export interface ThreadPoolOptions {
  startThread(events: ThreadEvents): Thread;
  /** Calls `work` after a delay, unless the returned function is called before. */
  after(ms: number, work: () => void): () => void;
  /** At least 2. Threads start when they are first needed. */
  maxThreads: number;
  /** `Code` enforces its own CPU limit; its thread is terminated this much later. */
  graceMs: number;
}

export interface ThreadPool {
  evaluate: Evaluate;
  close(): Promise<void>;
}

interface Job {
  key: string;
  evaluation: SerializedEvaluation;
  onStart(): void;
  resolve(result: SerializedResult): void;
  reject(error: unknown): void;
}

interface Worker {
  run(job: Job): void;
  close(): Promise<unknown>;
}

export function createThreadPool(options: ThreadPoolOptions): ThreadPool {
  const { startThread, after, maxThreads, graceMs } = options;
  const workers = new Set<Worker>();
  const idle: Worker[] = [];
  const queue = createFairQueue<Job>();
  /** The number of threads that evaluate for a key. */
  const running = new Map<string, number>();
  let isClosed = false;

  const isAtLimit = (key: string) => (running.get(key) ?? 0) >= maxThreads - 1;
  const release = (key: string) => {
    const count = (running.get(key) ?? 0) - 1;
    if (count > 0) running.set(key, count);
    else running.delete(key);
  };

  const dispatch = () => {
    while (!isClosed && (idle.length > 0 || workers.size < maxThreads)) {
      const job = queue.next(isAtLimit);
      if (!job) return;
      running.set(job.key, (running.get(job.key) ?? 0) + 1);
      (idle.pop() ?? startWorker()).run(job);
    }
  };

  const startWorker = (): Worker => {
    let job: Job | undefined;
    let isReady = false;
    let isDiscarded = false;
    let cancelDeadline = () => {};

    const finish = (settle: (job: Job) => void) => {
      cancelDeadline();
      const finished = job;
      job = undefined;
      if (!finished) return;
      release(finished.key);
      settle(finished);
    };
    const discard = (settle: (job: Job) => void) => {
      if (isDiscarded) return undefined;
      isDiscarded = true;
      workers.delete(worker);
      if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
      const terminated = thread.terminate();
      finish(settle);
      dispatch();
      return terminated;
    };
    // Not before the thread is ready: its start does not count against the time limit.
    const startDeadline = ({ evaluation: { language, timeoutMs }, onStart }: Job) => {
      onStart();
      const expire = () =>
        discard(({ resolve }) => resolve({ log: [], ...timeLimitExceeded(timeoutMs) }));
      cancelDeadline = after(timeoutMs + (language === "javascript" ? graceMs : 0), () => {
        // When the event loop was blocked, the result may be waiting behind this timer.
        cancelDeadline = after(0, expire);
      });
    };
    const thread = startThread({
      onReady() {
        isReady = true;
        if (job) startDeadline(job);
      },
      onResult(result) {
        if (isDiscarded) return;
        thread.setIdle(true);
        idle.push(worker);
        finish(({ resolve }) => resolve(result));
        dispatch();
      },
      onExit(reason) {
        discard(({ resolve, reject }) =>
          reason instanceof Error ? reject(reason) : resolve(reason),
        );
      },
    });
    const worker: Worker = {
      run(given) {
        job = given;
        if (isReady) startDeadline(given);
        thread.setIdle(false);
        thread.post(given.evaluation);
      },
      close: async () => discard(({ reject }) => reject(stopping())),
    };
    workers.add(worker);
    return worker;
  };

  const enqueue = (evaluation: SerializedEvaluation, caller: EvaluationCaller) =>
    new Promise<SerializedResult>((resolve, reject) => {
      if (isClosed) throw stopping();
      const { tenant, signal, onQueued = () => () => {} } = caller;
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const stopListening = () => signal.removeEventListener("abort", onAbort);
      const key = JSON.stringify([tenant, evaluation.language]);
      const leave = queue.add(key, {
        key,
        evaluation,
        onStart: onQueued(),
        resolve(result) {
          stopListening();
          resolve(result);
        },
        reject(error) {
          stopListening();
          reject(error);
        },
      });
      signal.addEventListener("abort", onAbort, { once: true });
      dispatch();
    });

  return {
    async evaluate(evaluation, caller) {
      caller.signal.throwIfAborted();
      return throughJson(evaluation, (serialized) => enqueue(serialized, caller));
    },
    async close() {
      isClosed = true;
      for (let job = queue.next(); job; job = queue.next()) job.reject(stopping());
      await Promise.all([...workers].map((worker) => worker.close()));
    },
  };
}

const stopping = () => new Error("The hub is stopping.");
