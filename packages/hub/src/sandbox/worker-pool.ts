/**
 * Evaluates programs in workers (on Node: processes), so that an endless program blocks only its
 * worker, not the event loop. A worker evaluates one program at a time. A worker that exceeds its
 * deadline is terminated and replaced. Evaluations are queued per tenant and language, and no queue
 * occupies all workers, so the filters of new events do not wait for the code of flows. Nor do all
 * evaluations of large data together, so small webhooks do not wait for large ones.
 *
 * The data of requests, queued or in a worker, have a limit per tenant and in total. Those of runs have
 * none: the number of runs in progress limits them.
 */
import {
  type Evaluate,
  type EvaluationCaller,
  type SerializedEvaluation,
  type SerializedResult,
  timeLimitExceeded,
} from "@signalbox/rules/flows/evaluation.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { RequestError } from "../lib/request-error.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { startDeadline } from "./deadline.ts";
import { createFairQueue } from "./fair-queue.ts";
import { throughJson } from "./serialize.ts";

/** The first message that a worker posts. */
export const READY = "ready";

export interface SandboxWorker {
  post(evaluation: SerializedEvaluation): void;
  /** An idle worker does not keep the hub's process alive. */
  setIdle(isIdle: boolean): void;
  /** Its CPU time since its start, or undefined if the host cannot measure it. */
  cpuMs(): number | undefined;
  terminate(): Promise<unknown>;
}

export interface SandboxWorkerEvents {
  /** The worker has started and can evaluate. */
  onReady(): void;
  onResult(result: SerializedResult): void;
  /**
   * The worker has ended. Its evaluation resolves with the result. After an error, it is evaluated
   * once more by another worker, and then rejects with the error.
   */
  onExit(reason: SerializedResult | Error): void;
}

export interface WorkerPoolOptions {
  startWorker(events: SandboxWorkerEvents): SandboxWorker;
  /** Calls `work` after `ms`; returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
  /** At least 2. Workers start when they are first needed. */
  maxWorkers: number;
  /** JavaScript has its own CPU limit, so its deadline is this much later. */
  graceMs: number;
}

export interface WorkerPool {
  evaluate: Evaluate;
  close(): Promise<void>;
}

/** As many as all bodies of webhooks in memory may have; half of them for one tenant. */
const MAX_BYTES = 256_000_000;
const MAX_TENANT_BYTES = MAX_BYTES / 2;

interface Job {
  key: string;
  evaluation: SerializedEvaluation;
  /** Its worker ended without a cause in the program; it is evaluated once more. */
  isRetry?: true;
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
  const requestBytes = createSemaphore({ limit: MAX_BYTES, perKey: MAX_TENANT_BYTES });
  /** For each group, the number of workers that evaluate its jobs. */
  const running = new Map<string, number>();
  let isClosed = false;

  const isAtLimit = (key: string) =>
    groupsOf(key).some((group) => (running.get(group) ?? 0) >= maxWorkers - 1);
  const count = (key: string, change: 1 | -1) => {
    for (const group of groupsOf(key)) {
      const total = (running.get(group) ?? 0) + change;
      if (total > 0) running.set(group, total);
      else running.delete(group);
    }
  };

  const dispatch = () => {
    while (!isClosed && (idle.length > 0 || slots.size < maxWorkers)) {
      const job = queue.next(isAtLimit);
      if (!job) return;
      count(job.key, 1);
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
      count(finished.key, -1);
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
    // Called when the worker is ready, so its startup does not count against the time limit.
    const begin = ({ evaluation: { language, timeoutMs }, onStart }: Job) => {
      onStart();
      cancelDeadline = startDeadline({
        limitMs: timeoutMs + (language === "javascript" ? graceMs : 0),
        after,
        cpuMs: worker.cpuMs,
        onExpire: () =>
          discard(({ resolve }) => resolve({ log: [], ...timeLimitExceeded(timeoutMs) })),
      });
    };
    const worker = startWorker({
      onReady() {
        isReady = true;
        if (job) begin(job);
      },
      onResult(result) {
        if (isDiscarded) return;
        idle.push(slot);
        finish(({ resolve }) => resolve(result));
        dispatch();
        if (!job) worker.setIdle(true);
      },
      onExit(reason) {
        discard((ended) => {
          if (!(reason instanceof Error)) ended.resolve(reason);
          else if (ended.isRetry || isClosed) ended.reject(reason);
          else queue.add(ended.key, { ...ended, isRetry: true });
        });
      },
    });
    const slot: Slot = {
      run(next) {
        job = next;
        if (isReady) begin(next);
        worker.setIdle(false);
        worker.post(next.evaluation);
      },
      close: async () => discard(({ reject }) => reject(stopping())),
    };
    slots.add(slot);
    return slot;
  };

  const enqueue = (evaluation: SerializedEvaluation, caller: EvaluationCaller) =>
    new Promise<SerializedResult>((resolve, reject) => {
      if (isClosed) throw stopping();
      const { tenant, signal, maxWaitMs, onQueued = () => () => {} } = caller;
      const release =
        maxWaitMs === undefined
          ? () => {}
          : requestBytes.tryAcquire(tenant, evaluation.data.length);
      if (!release) throw busy();
      const giveUp = (reason: unknown) => {
        removeFromQueue();
        settle();
        reject(reason);
      };
      const onAbort = () => giveUp(signal.reason);
      const stopWaiting =
        maxWaitMs === undefined ? () => {} : after(maxWaitMs, () => giveUp(busy()));
      const settle = () => {
        signal.removeEventListener("abort", onAbort);
        stopWaiting();
        release();
      };
      const key = keyOf(tenant, evaluation);
      const onStart = onQueued();
      const removeFromQueue = queue.add(key, {
        key,
        evaluation,
        onStart() {
          stopWaiting();
          onStart();
        },
        resolve(result) {
          settle();
          resolve(result);
        },
        reject(error) {
          settle();
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

/** The group of all evaluations with large data, and the prefix of their keys. */
const LARGE = "large";

const keyOf = (tenant: string, { language, data }: SerializedEvaluation): string =>
  (data.length > LARGE_BYTES ? LARGE : "") + JSON.stringify([tenant, language]);

/** The groups of a key, none of which may occupy all workers. */
const groupsOf = (key: string): string[] =>
  key.startsWith(LARGE) ? [key.slice(LARGE.length), LARGE] : [key];

const busy = () =>
  new RequestError("busy", "sandbox", "has too many large values to read; try again later");

const stopping = () => new Error("The hub is stopping.");
