/** Executes claimed runs, and can abort each of them. */
import type { Instant } from "../lib/elapsed.ts";
import type { ClaimedRun } from "../store/run-store.ts";
import type { DeferredStart } from "./deferred-start.ts";
import { type Executed, type ExecuteOptions, executeRun } from "./execute-run.ts";
import type { Leases } from "./leases.ts";
import { observeSteps, type RunMetrics } from "./run-metrics.ts";
import type { NodeProgress } from "./tool-progress.ts";

export interface ExecutionsOptions {
  shared: Omit<
    ExecuteOptions,
    "claimed" | "signal" | "lease" | "acquireSlot" | "onProgress" | "onError"
  >;
  metrics: RunMetrics;
  leases: Pick<Leases, "begin" | "end" | "isFresh" | "holds">;
  acquireSlot(run: string): Promise<void>;
  onProgress(run: string, progress: NodeProgress): void;
  onStarted(): void;
  /** `error`: the execution threw. When the lease of the run expires, a worker claims the run again. */
  onFinished(run: ClaimedRun, result: Executed | "error"): void;
  onError(error: unknown): void;
}

export interface Executions {
  /**
   * Resolves when this process no longer executes the run; never rejects. `since`: when the claim was
   * requested.
   */
  execute(run: ClaimedRun, since: Instant, deferred?: DeferredStart): Promise<void>;
  has(run: string): boolean;
  ids(): string[];
  cancel(run: string): void;
  /** Aborts every execution, so that other workers can continue the runs. */
  close(): Promise<void>;
}

export function createExecutions(options: ExecutionsOptions): Executions {
  const { shared, metrics, leases, acquireSlot, onProgress, onStarted, onFinished, onError } =
    options;
  const active = new Map<string, AbortController>();
  const pending = new Set<Promise<void>>();

  const executeClaimed = async (
    claimed: ClaimedRun,
    since: Instant,
    deferred?: DeferredStart,
  ): Promise<void> => {
    const { id } = claimed.run;
    const controller = new AbortController();
    // An earlier execution of this run has lost its lease and can no longer save steps.
    active.get(id)?.abort("stopping");
    active.set(id, controller);
    leases.begin(id, since);
    onStarted();
    let result: Executed | "error" = "error";
    try {
      result = await executeRun({
        ...shared,
        save: deferred?.save ?? observeSteps(shared.save, claimed, metrics),
        claimed,
        signal: controller.signal,
        lease: { isFresh: () => leases.isFresh(id), holds: () => leases.holds(id) },
        acquireSlot: () => acquireSlot(id),
        onProgress: (progress) => onProgress(id, progress),
        onError,
      });
    } catch (error) {
      onError(error);
    } finally {
      await deferred?.close();
      if (active.get(id) === controller) {
        active.delete(id);
        leases.end(id);
      }
      onFinished(claimed, result);
    }
  };

  return {
    execute(run, since, deferred) {
      const finished = executeClaimed(run, since, deferred).finally(() => pending.delete(finished));
      pending.add(finished);
      return finished;
    },
    has: (run) => active.has(run),
    ids: () => [...active.keys()],
    cancel: (run) => active.get(run)?.abort("cancelled"),
    async close() {
      for (const controller of active.values()) controller.abort("stopping");
      await Promise.all(pending);
    },
  };
}
