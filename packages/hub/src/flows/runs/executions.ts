/** Executes claimed runs. Each execution can be cancelled, or stopped for another worker to continue. */
import type { Instant } from "../../kernel/lib/elapsed.ts";
import type { DeferredStart } from "./deferred-start.ts";
import { type ExecuteOptions, type ExecutionOutcome, executeRun } from "./execute-run.ts";
import type { Leases } from "./leases.ts";
import type { ClaimedRun } from "./model.ts";
import type { OutboundLimits } from "./outbound-limits.ts";
import type { RunMemory } from "./run-memory.ts";
import { observeSteps, type RunMetrics } from "./run-metrics.ts";
import type { RunWaits } from "./run-waits.ts";
import type { NodeProgress } from "./tool-progress.ts";

export interface ExecutionsOptions {
  /** The options that are the same for all executions. */
  shared: Omit<
    ExecuteOptions,
    | "claimed"
    | "signal"
    | "lease"
    | "enterOrigin"
    | "beginWait"
    | "onMemory"
    | "readmit"
    | "onProgress"
    | "onError"
  >;
  metrics: RunMetrics;
  leases: Pick<Leases, "begin" | "end" | "isFresh" | "ensureFresh">;
  memory: Pick<RunMemory, "open">;
  outbound: Pick<OutboundLimits, "enter">;
  waits: Pick<RunWaits, "begin">;
  readmit(run: string): Promise<void>;
  onProgress(run: string, progress: NodeProgress): void;
  onStarted(): void;
  /**
   * `error`: the execution threw. When the lease of the run expires, a worker claims the run again.
   */
  onFinished(run: ClaimedRun, result: ExecutionOutcome | "error"): void;
  onError(error: unknown): void;
}

export interface Executions {
  /** Resolves when this process no longer executes the run; never rejects. See `Leases.begin`. */
  execute(run: ClaimedRun, leaseStart: Instant, deferred?: DeferredStart): Promise<void>;
  has(run: string): boolean;
  ids(): string[];
  cancel(run: string): void;
  /** Aborts every execution, so that other workers can continue the runs. */
  close(): Promise<void>;
}

/** About the most that a claim loads of a run's steps. */
const MAX_LOADED_BYTES = 4 * 1024 * 1024;

export function createExecutions(options: ExecutionsOptions): Executions {
  const { shared, metrics, leases, memory, outbound, waits, readmit } = options;
  const { onProgress, onStarted, onFinished, onError } = options;
  const controllers = new Map<string, AbortController>();
  const unfinished = new Set<Promise<void>>();

  const executeClaimed = async (
    claimed: ClaimedRun,
    leaseStart: Instant,
    deferred?: DeferredStart,
  ): Promise<void> => {
    const { id, tenant, app, flow_id } = claimed.run;
    const path = [tenant, app, flow_id];
    const controller = new AbortController();
    // If this process still executes an earlier claim of the run, that claim has lost its lease, and
    // its execution can no longer save steps.
    controllers.get(id)?.abort("stopping");
    controllers.set(id, controller);
    leases.begin(id, leaseStart);
    onStarted();
    const openRun = memory.open(id, path);
    openRun.add(Math.min(claimed.bytes, MAX_LOADED_BYTES));
    let result: ExecutionOutcome | "error" = "error";
    try {
      result = await executeRun({
        ...shared,
        save: deferred?.save ?? observeSteps(shared.save, claimed, metrics),
        claimed,
        signal: controller.signal,
        lease: { isFresh: () => leases.isFresh(id), ensureFresh: () => leases.ensureFresh(id) },
        async enterOrigin(origin, { signal, onQueued }) {
          const leave = await outbound.enter(origin, path, {
            signal,
            onQueued() {
              const ends = [waits.begin(claimed.run, "limit", origin), onQueued?.()];
              return () => {
                for (const end of ends) end?.();
              };
            },
          });
          const endWait = waits.begin(claimed.run, "response", origin);
          return () => {
            endWait();
            leave();
          };
        },
        beginWait: (kind, target) => waits.begin(claimed.run, kind, target),
        onMemory: openRun.add,
        readmit: () => readmit(id),
        onProgress: (progress) => onProgress(id, progress),
        onError,
      });
    } catch (error) {
      onError(error);
    } finally {
      await deferred?.close();
      openRun.close();
      if (controllers.get(id) === controller) {
        controllers.delete(id);
        leases.end(id);
      }
      onFinished(claimed, result);
    }
  };

  return {
    execute(run, leaseStart, deferred) {
      const finished = executeClaimed(run, leaseStart, deferred).finally(() =>
        unfinished.delete(finished),
      );
      unfinished.add(finished);
      return finished;
    },
    has: (run) => controllers.has(run),
    ids: () => [...controllers.keys()],
    cancel: (run) => controllers.get(run)?.abort("cancelled"),
    async close() {
      for (const controller of controllers.values()) controller.abort("stopping");
      await Promise.all(unfinished);
    },
  };
}
