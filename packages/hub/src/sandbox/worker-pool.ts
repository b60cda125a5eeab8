/**
 * Evaluates in workers (on Node: processes), so that a program that does not end blocks one worker
 * and never the event loop. A worker evaluates one program at a time; one that exceeds its deadline
 * is terminated and replaced. Waiting evaluations are queued per tenant and language, and no queue
 * occupies every worker: filters of arriving events do not wait behind the code of flows.
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

/** The first message that a worker posts. */
export const READY = "ready";

export interface SandboxWorker {
  post(evaluation: SerializedEvaluation): void;
  /** An idle worker does not keep the hub's process alive. */
  setIdle(isIdle: boolean): void;
  terminate(): Promise<unknown>;
}

export interface SandboxWorkerEvents {
  /** The worker has started and can evaluate. */
  onReady(): void;
  onResult(result: SerializedResult): void;
  /** The worker has ended; what it was evaluating has this result, or fails with this error. */
  onExit(reason: SerializedResult | Error): void;
}

export interface WorkerPoolOptions {
  startWorker(events: SandboxWorkerEvents): SandboxWorker;
  /** Calls `work` after a delay, unless the returned function is called before. */
  after(ms: number, work: () => void): () => void;
  /** At least 2. Workers start when they are first needed. */
  maxWorkers: number;
  /** `Code` enforces its own CPU limit; its worker is terminated this much later. */
  graceMs: number;
}

export interface WorkerPool {
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

interface Slot {
  run(job: Job): void;
  close(): Promise<unknown>;
}

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { startWorker, after, maxWorkers, graceMs } = options;
  const slots = new Set<Slot>();
  const idle: Slot[] = [];
  const queue = createFairQueue<Job>();
  /** The number of workers that evaluate for a key. */
  const running = new Map<string, number>();
  let isClosed = false;

  const isAtLimit = (key: string) => (running.get(key) ?? 0) >= maxWorkers - 1;
  const release = (key: string) => {
    const count = (running.get(key) ?? 0) - 1;
    if (count > 0) running.set(key, count);
    else running.delete(key);
  };

  const dispatch = () => {
    while (!isClosed && (idle.length > 0 || slots.size < maxWorkers)) {
      const job = queue.next(isAtLimit);
      if (!job) return;
      running.set(job.key, (running.get(job.key) ?? 0) + 1);
      (idle.pop() ?? openSlot()).run(job);
    }
  };

  const openSlot = (): Slot => {
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
      slots.delete(slot);
      if (idle.includes(slot)) idle.splice(idle.indexOf(slot), 1);
      const terminated = worker.terminate();
      finish(settle);
      dispatch();
      return terminated;
    };
    // Not before the worker is ready: its start does not count against the time limit.
    const startDeadline = ({ evaluation: { language, timeoutMs }, onStart }: Job) => {
      onStart();
      const expire = () =>
        discard(({ resolve }) => resolve({ log: [], ...timeLimitExceeded(timeoutMs) }));
      cancelDeadline = after(timeoutMs + (language === "javascript" ? graceMs : 0), () => {
        // When the event loop was blocked, the result may be waiting behind this timer.
        cancelDeadline = after(0, expire);
      });
    };
    const worker = startWorker({
      onReady() {
        isReady = true;
        if (job) startDeadline(job);
      },
      onResult(result) {
        if (isDiscarded) return;
        idle.push(slot);
        finish(({ resolve }) => resolve(result));
        dispatch();
        if (!job) worker.setIdle(true);
      },
      onExit(reason) {
        discard(({ resolve, reject }) =>
          reason instanceof Error ? reject(reason) : resolve(reason),
        );
      },
    });
    const slot: Slot = {
      run(given) {
        job = given;
        if (isReady) startDeadline(given);
        worker.setIdle(false);
        worker.post(given.evaluation);
      },
      close: async () => discard(({ reject }) => reject(stopping())),
    };
    slots.add(slot);
    return slot;
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
      await Promise.all([...slots].map((slot) => slot.close()));
    },
  };
}

const stopping = () => new Error("The hub is stopping.");
