/**
 * Runs jobs in workers (on Node: processes), so that an endless job blocks only its worker, not the event
 * loop. A worker that exceeds its deadline is terminated and replaced. Jobs are queued per tenant and name,
 * and in each of these queues by lanes that get the same time (fair-queue.ts), such as apps and their flows.
 * One queue cannot occupy all workers, so the filters of new events do not wait for the code of flows. Jobs
 * with large data together cannot occupy all workers either, so small webhooks do not wait for large ones.
 *
 * Short jobs of one outer lane run in batches, because most take less time than a message to a worker, and
 * because events whose filters end together share a commit. After some milliseconds, a worker returns the
 * results so far, and the rest of the batch is queued again. A batch has the deadline of one job. If it
 * exceeds a limit or its worker crashes, each of its jobs runs again alone, so that only the one that caused
 * it fails.
 *
 * The data of requests that are queued or in a worker are limited, per tenant and in total. The data of
 * runs are not limited here, because the number of runs in progress limits them.
 */
import { type SerializedResult, timeLimitExceeded } from "@signalbox/rules/flows/evaluation.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { RequestError } from "../lib/request-error.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { startDeadline } from "./deadline.ts";
import { createFairQueue } from "./fair-queue.ts";
import { type JobCaller, type RunJob, runThroughJson, type SerializedRequest } from "./job.ts";

/** The first message that a worker posts. */
export const READY = "ready";

/** What a worker posts to its pool: see `JobWorkerEvents`. */
export type WorkerMessage =
  | typeof READY
  | { results: readonly SerializedResult[]; times: readonly number[] };

export interface JobWorker {
  /** The worker runs the jobs one after the other, at least the first one. */
  post(requests: readonly SerializedRequest[]): void;
  /** An idle worker does not keep the hub's process alive. */
  setIdle(isIdle: boolean): void;
  /** The CPU time of the worker since its start, or undefined if the host cannot measure it. */
  cpuMs(): number | undefined;
  terminate(): Promise<unknown>;
}

export interface JobWorkerEvents {
  /** The worker has started and can run jobs. */
  onReady(): void;
  /**
   * The results of the posted jobs, or of the first ones, and the time that each has taken. The worker does
   * not run the others.
   */
  onResults(results: readonly SerializedResult[], times: readonly number[]): void;
  /**
   * The worker has ended. If the reason is a result, a job that was posted alone resolves with it. After an
   * error, another worker runs the job again. After a second error, the job rejects.
   */
  onExit(reason: SerializedResult | Error): void;
}

export interface WorkerPoolOptions {
  startWorker(events: JobWorkerEvents): JobWorker;
  /** Calls `work` after `ms`; returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
  /** At least 2. Workers start when they are first needed. */
  maxWorkers: number;
  /** The names of jobs that usually take less time than a message to a worker. */
  shortJobs: readonly string[];
  /** The names of jobs that limit their own CPU time. Their deadline is `graceMs` later. */
  selfLimitedJobs: readonly string[];
  graceMs: number;
}

export interface WorkerPool {
  runJob: RunJob;
  /** The number of jobs that wait for a worker, by name. */
  queued(): Map<string, number>;
  close(): Promise<void>;
}

/** The limit of all data of requests. One tenant may use half of it. */
const MAX_BYTES = 256_000_000;
const MAX_TENANT_BYTES = MAX_BYTES / 2;

interface QueuedJob {
  key: string;
  /** The key, the app and the flow. */
  lane: readonly [string, ...string[]];
  request: SerializedRequest;
  /** False for jobs that are not short, for those of HTTP requests, and after a batch with this job has failed. */
  canBatch: boolean;
  /** The job has run alone, and its worker ended with an error. There is no second retry. */
  isRetry: boolean;
  isSettled: boolean;
  /** Does nothing if the job is not queued. */
  removeFromQueue(): void;
  /**
   * The job has started. For a job of a batch, it is called when its result arrives, because the jobs
   * before it must not count against the time limit of its step.
   */
  onStart(): void;
  resolve(result: SerializedResult): void;
  reject(error: unknown): void;
}

/** A worker with its current jobs. */
interface WorkerHandle {
  run(jobs: QueuedJob[]): void;
  close(): Promise<unknown>;
}

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { startWorker, after, maxWorkers, shortJobs, selfLimitedJobs, graceMs } = options;
  const handles = new Set<WorkerHandle>();
  const idleHandles: WorkerHandle[] = [];
  const queue = createFairQueue<QueuedJob>();
  const requestBytes = createSemaphore({ limit: MAX_BYTES, perKey: MAX_TENANT_BYTES });
  /** For each group, the number of workers that run its jobs. */
  const runningByGroup = new Map<string, number>();
  let isClosed = false;

  const isAtLimit = (key: string) =>
    groupsOf(key).some((group) => (runningByGroup.get(group) ?? 0) >= maxWorkers - 1);
  const changeRunning = (key: string, change: 1 | -1) => {
    for (const group of groupsOf(key)) {
      const total = (runningByGroup.get(group) ?? 0) + change;
      if (total > 0) runningByGroup.set(group, total);
      else runningByGroup.delete(group);
    }
  };

  const addToQueue = (job: QueuedJob, position?: "first") => {
    if (!job.isSettled) job.removeFromQueue = queue.add(job.lane, job, position);
  };
  const dispatch = () => {
    while (!isClosed && (idleHandles.length > 0 || handles.size < maxWorkers)) {
      const job = queue.next(isAtLimit);
      if (!job) return;
      changeRunning(job.key, 1);
      (idleHandles.pop() ?? openWorker()).run(takeBatch(job));
    }
  };
  const takeBatch = (first: QueuedJob): QueuedJob[] => {
    const batch = [first];
    let bytes = first.request.data.length;
    const fits = (job: QueuedJob) =>
      batch.length < MAX_BATCH &&
      first.canBatch &&
      job.canBatch &&
      bytes + job.request.data.length <= LARGE_BYTES;
    for (;;) {
      // Of one app: the jobs of a batch wait for each other.
      const job = queue.nextOf([first.key, first.lane[1] ?? ""], fits);
      if (!job) return batch;
      batch.push(job);
      bytes += job.request.data.length;
    }
  };

  const openWorker = (): WorkerHandle => {
    let jobs: QueuedJob[] = [];
    let isBatch = false;
    let isReady = false;
    let isDiscarded = false;
    let cancelDeadline = () => {};

    const takeJobs = (): QueuedJob[] => {
      cancelDeadline();
      const [first] = jobs;
      if (first) changeRunning(first.key, -1);
      return jobs.splice(0);
    };
    const discard = (settle: (job: QueuedJob) => void) => {
      if (isDiscarded) return undefined;
      isDiscarded = true;
      handles.delete(handle);
      if (idleHandles.includes(handle)) idleHandles.splice(idleHandles.indexOf(handle), 1);
      const terminated = worker.terminate();
      for (const job of takeJobs())
        if (isBatch && !isClosed) {
          job.canBatch = false;
          addToQueue(job);
        } else {
          queue.charge(job.lane, job.request.timeoutMs);
          settle(job);
        }
      dispatch();
      return terminated;
    };
    // Called when the worker is ready, so its startup does not count against the time limit.
    const begin = () => {
      if (!isBatch) for (const job of jobs) job.onStart();
      const timeoutMs = Math.min(...jobs.map(({ request }) => request.timeoutMs));
      const isSelfLimited = jobs.some(({ request }) => selfLimitedJobs.includes(request.job));
      cancelDeadline = startDeadline({
        limitMs: timeoutMs + (isSelfLimited ? graceMs : 0),
        after,
        cpuMs: worker.cpuMs,
        onExpire: () =>
          discard(({ resolve }) => resolve({ log: [], ...timeLimitExceeded(timeoutMs) })),
      });
    };
    const worker = startWorker({
      onReady() {
        isReady = true;
        if (jobs.length > 0) begin();
      },
      onResults(results, times) {
        if (isDiscarded) return;
        const taken = takeJobs();
        for (const job of taken.slice(results.length).reverse()) addToQueue(job, "first");
        results.forEach((result, at) => {
          const lane = taken[at]?.lane;
          if (lane) queue.charge(lane, times[at] ?? 0);
          if (isBatch) taken[at]?.onStart();
          taken[at]?.resolve(result);
        });
        idleHandles.push(handle);
        dispatch();
        if (jobs.length === 0) worker.setIdle(true);
      },
      onExit(reason) {
        discard((ended) => {
          if (!(reason instanceof Error)) ended.resolve(reason);
          else if (ended.isRetry || isClosed) ended.reject(reason);
          else {
            ended.isRetry = true;
            ended.canBatch = false;
            addToQueue(ended);
          }
        });
      },
    });
    const handle: WorkerHandle = {
      run(batch) {
        jobs = batch;
        isBatch = batch.length > 1;
        if (isReady) begin();
        worker.setIdle(false);
        worker.post(batch.map(({ request }) => request));
      },
      close: async () => discard(({ reject }) => reject(stoppingError())),
    };
    handles.add(handle);
    return handle;
  };

  const enqueue = (request: SerializedRequest, caller: JobCaller) =>
    new Promise<SerializedResult>((resolve, reject) => {
      if (isClosed) throw stoppingError();
      const { tenant, lane = [], signal, maxWaitMs, onQueued = () => () => {} } = caller;
      const release =
        maxWaitMs === undefined ? () => {} : requestBytes.tryAcquire(tenant, request.data.length);
      if (!release) throw busyError();
      const onAbort = () => job.reject(signal.reason);
      const stopWaiting =
        maxWaitMs === undefined ? () => {} : after(maxWaitMs, () => job.reject(busyError()));
      const cleanUp = () => {
        job.isSettled = true;
        job.removeFromQueue();
        signal.removeEventListener("abort", onAbort);
        stopWaiting();
        release();
      };
      const onStart = onQueued();
      const key = keyOf(tenant, request);
      const job: QueuedJob = {
        key,
        lane: [key, ...(lane.length > 0 ? lane : [""])],
        request,
        canBatch: shortJobs.includes(request.job) && maxWaitMs === undefined,
        isRetry: false,
        isSettled: false,
        removeFromQueue() {},
        onStart() {
          stopWaiting();
          onStart();
        },
        resolve(result) {
          cleanUp();
          resolve(result);
        },
        reject(error) {
          cleanUp();
          reject(error);
        },
      };
      addToQueue(job);
      signal.addEventListener("abort", onAbort, { once: true });
      dispatch();
    });

  return {
    async runJob(request, caller) {
      caller.signal.throwIfAborted();
      return runThroughJson(request, (serialized) => enqueue(serialized, caller));
    },
    queued() {
      const counts = new Map<string, number>();
      for (const [key, size] of queue.sizes()) {
        const name = nameOf(key);
        counts.set(name, (counts.get(name) ?? 0) + size);
      }
      return counts;
    },
    async close() {
      isClosed = true;
      for (let job = queue.next(); job; job = queue.next()) job.reject(stoppingError());
      await Promise.all([...handles].map((handle) => handle.close()));
    },
  };
}

const MAX_BATCH = 16;

/** The group of all jobs with large data, and the prefix of their keys. */
const LARGE = "large";

const keyOf = (tenant: string, { job, data }: SerializedRequest): string =>
  (data.length > LARGE_BYTES ? LARGE : "") + JSON.stringify([tenant, job]);

const nameOf = (key: string): string =>
  (JSON.parse(key.startsWith(LARGE) ? key.slice(LARGE.length) : key) as [string, string])[1];

/** The groups of a key, none of which may occupy all workers. */
const groupsOf = (key: string): string[] =>
  key.startsWith(LARGE) ? [key.slice(LARGE.length), LARGE] : [key];

const busyError = () =>
  new RequestError("busy", "sandbox", "has too many large values to read; try again later");

const stoppingError = () => new Error("The hub is stopping.");
