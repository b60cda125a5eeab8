/**
 * Creates the components of the runner, and connects them to each other and to the store's notices.
 */
import { createHeartbeat } from "../../kernel/lib/heartbeat.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { createClaimer } from "./claimer.ts";
import type { ExecuteOptions } from "./execute-run.ts";
import { createExecutions } from "./executions.ts";
import { createLeases } from "./leases.ts";
import { createOutboundLimits } from "./outbound-limits.ts";
import { createProgressCommit } from "./progress-commit.ts";
import { DEFAULT_RUN_BYTES } from "./run-budget.ts";
import { createRunLimit } from "./run-limit.ts";
import { createRunMemory } from "./run-memory.ts";
import { observeEnds, type RunMetrics } from "./run-metrics.ts";
import { createRunWaits } from "./run-waits.ts";
import type { NodeProgress } from "./tool-progress.ts";
import { createWaiters } from "./waiters.ts";
import { createWorkSlots, WORK_SLOTS } from "./work-slots.ts";
import type { WorkerLoad } from "./worker-load.ts";

export interface RunnerComponentsOptions
  extends Pick<ExecuteOptions, "registry" | "loadSecrets" | "loadInput" | "services" | "timers">,
    Partial<
      Pick<ExecuteOptions, "stepTimeoutMs" | "runTimeoutMs" | "suspendAfterMs" | "maxRunBytes">
    > {
  store: Store;
  /** The holder of the leases: a new id for each start of the process. */
  worker: string;
  leaseMs: number;
  /**
   * How many claimed runs may execute here at the same time; undefined = as many as their memory allows.
   * A run that a caller starts here executes in any case.
   */
  concurrency: number | undefined;
  /** Timers whose `defer` waits while other writes have priority; by default `timers`. */
  writeTimers?: Timers;
  /** The memory that runs may use before no more are claimed. */
  memoryBytes: number;
  /** How many requests runs may have open at one origin. */
  originRequests: number;
  metrics: RunMetrics;
  onError: (error: unknown) => void;
}

/** A transaction that renews many leases would delay the others. */
const RENEWED_AT_ONCE = 200;

export function createRunnerComponents(options: RunnerComponentsOptions) {
  const { store, timers, worker, leaseMs, concurrency, memoryBytes, onError } = options;
  const leaseOptions = { store, worker, leaseMs, timers, onError };
  const leases = createLeases(leaseOptions);
  const limit = createRunLimit({
    max: concurrency ?? Number.POSITIVE_INFINITY,
    isExecuting: (id) => executions.has(id),
  });
  const slots = createWorkSlots({ timers, onFree: () => claimer.onSlotFree() });
  const memory = createRunMemory(memoryBytes);
  const outbound = createOutboundLimits(options.originRequests);
  const waits = createRunWaits({ store, worker, timers, onError });
  const waiters = createWaiters({ store, timers, onError });
  const { writeTimers = timers } = options;
  const save = createProgressCommit({ store, timers: writeTimers });
  /** By run id: the listener that gets the progress of the tools that the run calls. */
  const progressListeners = new Map<string, (progress: NodeProgress) => void>();
  const executions = createExecutions({
    shared: {
      stepTimeoutMs: 60_000,
      runTimeoutMs: 24 * 3_600_000,
      suspendAfterMs: 1_000,
      maxRunBytes: DEFAULT_RUN_BYTES,
      loadOutput: store.loadOutput,
      ...options,
      save,
      slots,
    },
    metrics: options.metrics,
    memory,
    outbound,
    waits,
    readmit: limit.readmit,
    onProgress: (run, progress) => progressListeners.get(run)?.(progress),
    leases,
    onStarted: () => heartbeat.start(),
    onFinished({ run: { id, parent_run } }, result) {
      // After its lease expired, the run may have been claimed again, and may execute here again.
      if (!executions.has(id)) limit.removeWaiting(id);
      waiters.check(id);
      const isCallerWaiting = limit.hasCalls(parent_run ?? "");
      // After an error, the claimer must schedule a claim for the time when the lease expires. If a
      // called run stops executing here before it has ended, its caller no longer counts: see run-limit.ts.
      if (result === "error" || (isCallerWaiting && result !== "ended")) claimer.claimDue();
    },
    onError,
  });
  const heartbeat = createHeartbeat({
    ...leaseOptions,
    heldIds: executions.ids,
    async renew(runs) {
      for (let at = 0; at < runs.length; at += RENEWED_AT_ONCE) {
        if (at > 0) await new Promise<void>((resolve) => timers.defer(resolve));
        const cancelled = await leases.renew(runs.slice(at, at + RENEWED_AT_ONCE));
        for (const run of cancelled) executions.cancel(run);
      }
    },
  });
  const claimer = createClaimer({
    ...leaseOptions,
    timers: writeTimers,
    limit,
    slots,
    memory,
    renewExpired: heartbeat.renewExpired,
    execute: executions.execute,
  });
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "runs") claimer.claimAt(notice.due);
    else if (notice.topic === "run_cancel") executions.cancel(notice.run);
    // If the run executes here, `onFinished` checks its waiters.
    else if (notice.topic === "run_ended" && !executions.has(notice.run)) waiters.check(notice.run);
    else if (notice.topic === "gap") {
      waiters.checkAll();
      claimer.claimDue();
    }
  });
  const stopObserving = observeEnds(store, options.metrics);
  claimer.claimDue();

  return {
    save,
    limit,
    memory,
    waiters,
    executions,
    claimer,
    progressListeners,
    readLoad: (): WorkerLoad => ({
      slots: { busy: WORK_SLOTS - slots.shares.free, total: WORK_SLOTS, waiting: slots.waiting },
      runs: executions.ids().length,
      memory: { used: memory.used, budget: memoryBytes },
      origins: outbound.list().map(({ origin, open, waiting }) => ({
        origin,
        open,
        waiting: waiting.reduce((sum, { count }) => sum + count, 0),
      })),
    }),
    async close(reason: string): Promise<void> {
      heartbeat.stop();
      unsubscribe();
      waiters.close(reason);
      await Promise.all([claimer.close(), executions.close()]);
      stopObserving();
      await waits.close();
      await store.releaseRuns(worker, timers.now());
    },
  };
}
