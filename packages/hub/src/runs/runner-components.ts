/**
 * Creates the components of the runner, and connects them to each other and to the store's notices.
 */
import { createHeartbeat } from "../lib/heartbeat.ts";
import type { Store } from "../store/store.ts";
import { createClaimer } from "./claimer.ts";
import type { ExecuteOptions } from "./execute-run.ts";
import { createExecutions } from "./executions.ts";
import { createLeases } from "./leases.ts";
import { createProgressCommit } from "./progress-commit.ts";
import { DEFAULT_RUN_BYTES } from "./run-budget.ts";
import { observeEnds, type RunMetrics } from "./run-metrics.ts";
import { createSlots } from "./slots.ts";
import type { NodeProgress } from "./tool-progress.ts";
import { createWaiters } from "./waiters.ts";

export interface RunnerComponentsOptions
  extends Pick<ExecuteOptions, "registry" | "loadSecrets" | "loadInput" | "services" | "timers">,
    Partial<
      Pick<ExecuteOptions, "stepTimeoutMs" | "runTimeoutMs" | "suspendAfterMs" | "maxRunBytes">
    > {
  store: Store;
  /** The holder of the leases: a new id for each start of the process. */
  worker: string;
  leaseMs: number;
  /** The number of slots. A run that a caller starts here executes immediately, without a slot. */
  concurrency: number;
  metrics: RunMetrics;
  onError: (error: unknown) => void;
}

export function createRunnerComponents(options: RunnerComponentsOptions) {
  const { store, timers, worker, leaseMs, concurrency, onError } = options;
  const leaseOptions = { store, worker, leaseMs, timers, onError };
  const leases = createLeases(leaseOptions);
  const slots = createSlots({ concurrency, isExecuting: (id) => executions.has(id) });
  const waiters = createWaiters({ store, timers, onError });
  const save = createProgressCommit({ store, timers });
  /** By run id: the listener that gets the progress of the tools that the run calls. */
  const progressListeners = new Map<string, (progress: NodeProgress) => void>();
  const executions = createExecutions({
    shared: {
      stepTimeoutMs: 60_000,
      runTimeoutMs: 24 * 3_600_000,
      suspendAfterMs: 2_000,
      maxRunBytes: DEFAULT_RUN_BYTES,
      loadOutput: store.loadOutput,
      ...options,
      save,
    },
    metrics: options.metrics,
    acquireSlot: slots.acquireSlot,
    onProgress: (run, progress) => progressListeners.get(run)?.(progress),
    leases,
    onStarted: () => heartbeat.start(),
    onFinished({ run: { id, parent_run } }, result) {
      // After its lease expired, the run may have been claimed again, and may execute here again.
      if (!executions.has(id)) slots.removeWaiting(id);
      waiters.check(id);
      const isCallerWaiting = slots.hasCalls(parent_run ?? "");
      // After an error, the claimer must schedule a claim for the time when the lease expires. If a
      // called run stops executing here before it has ended, its caller's slot becomes free: see slots.ts.
      if (result === "error" || (isCallerWaiting && result !== "ended")) claimer.claimDue();
    },
    onError,
  });
  const heartbeat = createHeartbeat({
    ...leaseOptions,
    heldIds: executions.ids,
    async renew(runs) {
      for (const run of await leases.renew(runs)) executions.cancel(run);
    },
  });
  const claimer = createClaimer({
    ...leaseOptions,
    slots,
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
    slots,
    waiters,
    executions,
    claimer,
    progressListeners,
    async close(reason: string): Promise<void> {
      heartbeat.stop();
      unsubscribe();
      waiters.close(reason);
      await Promise.all([claimer.close(), executions.close()]);
      stopObserving();
      await store.releaseRuns(worker, timers.now());
    },
  };
}
