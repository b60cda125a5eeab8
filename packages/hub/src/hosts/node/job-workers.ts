/**
 * Runs jobs on Node in workers. They are processes, not threads: a program that exhausts the
 * heap of a worker thread with one large allocation aborts the whole process. See
 * docs/decisions/0009-code-in-processes.md.
 */
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { type Evaluation, memoryLimitExceeded } from "@signalbox/rules/flows/evaluation.ts";
import {
  createWorkerPool,
  type JobWorker,
  type JobWorkerEvents,
  READY,
  type WorkerMessage,
  type WorkerPool,
} from "../../kernel/jobs/worker-pool.ts";
import { sendInPieces } from "./job-pieces.ts";

/** The maximum heap of a worker. `Code` nodes use WebAssembly memory, which has its own limit. */
const HEAP_MB = 256;

/** V8 aborts the process with one of these when an allocation exceeds the heap. */
const V8_ABORTS: readonly string[] = ["SIGABRT", "SIGTRAP", "SIGILL", "SIGSEGV"];

const isSource = import.meta.url.endsWith(".ts");
const WORKER_FILE = fileURLToPath(
  new URL(isSource ? "job-worker.ts" : "job-worker.js", import.meta.url),
);

const SHORT_JOBS: readonly Evaluation["job"][] = ["jsonata", "jsonata-filters"];
/** QuickJS counts the CPU time of code. */
const SELF_LIMITED_JOBS: readonly Evaluation["job"][] = ["javascript"];

export interface JobWorkersOptions {
  maxWorkers?: number;
  graceMs?: number;
}

export const createJobWorkers = ({
  maxWorkers = Math.min(5, Math.max(2, availableParallelism())),
  graceMs = 2000,
}: JobWorkersOptions = {}): WorkerPool =>
  createWorkerPool({
    startWorker,
    after,
    maxWorkers,
    shortJobs: SHORT_JOBS,
    selfLimitedJobs: SELF_LIMITED_JOBS,
    graceMs,
  });

const after = (ms: number, work: () => void) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

function startWorker({ onReady, onResults, onExit }: JobWorkerEvents): JobWorker {
  const child = fork(WORKER_FILE, {
    env: {}, // without the secrets in the environment of the hub
    execArgv: [
      `--max-old-space-size=${HEAP_MB}`,
      ...(isSource ? ["--experimental-strip-types"] : []),
    ],
    // Faster than JSON, because data and output are one string each.
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  child.on("message", (message: WorkerMessage) =>
    message === READY ? onReady() : onResults(message.results, message.times),
  );
  child.on("error", onExit);
  const exited = new Promise<void>((resolve) =>
    child.once("exit", (code, signal) => {
      onExit(
        signal !== null && V8_ABORTS.includes(signal)
          ? { log: [], ...memoryLimitExceeded(HEAP_MB) }
          : new Error(`The worker process has ended: ${signal ?? `code ${code}`}.`),
      );
      resolve();
    }),
  );
  const setIdle = (isIdle: boolean) => {
    if (isIdle) {
      child.unref();
      child.channel?.unref();
    } else {
      child.ref();
      child.channel?.ref();
    }
  };
  return {
    post: (requests) => void sendInPieces(child, requests),
    setIdle,
    cpuMs: () => readCpuMs(child.pid),
    terminate() {
      // The caller awaits the exit, so the hub's process must stay alive until then.
      setIdle(false);
      child.kill("SIGKILL");
      return exited;
    },
  };
}

/** Linux counts CPU time in ticks of 10 ms. */
const MS_PER_TICK = 10;

/**
 * Reads the user and system time from `/proc`, which only Linux has: fields 14 and 15 in
 * proc_pid_stat(5). They are counted from the end of the process name, which may contain spaces.
 */
function readCpuMs(pid: number | undefined): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13);
    return (Number(user) + Number(system)) * MS_PER_TICK;
  } catch {
    return undefined;
  }
}
