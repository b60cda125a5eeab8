/** The runs that this process executes now, and how to abort each of them. */
import type { ClaimedRun } from "../store/run-store.ts";
import { type ExecuteOptions, executeRun } from "./execute-run.ts";

export interface ExecutionsOptions {
  /** What every execution shares; see `ExecuteOptions`. */
  shared: Omit<ExecuteOptions, "claimed" | "signal" | "acquireSlot">;
  acquireSlot(run: string): Promise<void>;
  onStarted(): void;
  /** `failed`: the store could not save its progress; its lease expires, and a worker claims it again. */
  onFinished(run: ClaimedRun, result: "ended" | "suspended" | "failed"): void;
  onError(error: unknown): void;
}

export interface Executions {
  /** Resolves when this process no longer executes the run; never rejects. */
  execute(run: ClaimedRun): Promise<void>;
  has(run: string): boolean;
  ids(): string[];
  cancel(run: string): void;
  /** Aborts every execution, for other workers to continue. */
  close(): Promise<void>;
}

export function createExecutions(options: ExecutionsOptions): Executions {
  const { shared, acquireSlot, onStarted, onFinished, onError } = options;
  const active = new Map<string, AbortController>();
  const finishing = new Set<Promise<void>>();

  const executeClaimed = async (claimed: ClaimedRun): Promise<void> => {
    const { id } = claimed.run;
    const controller = new AbortController();
    // The lease of an earlier execution expired before it finished: it may not save any more.
    active.get(id)?.abort("stopping");
    active.set(id, controller);
    onStarted();
    let result: "ended" | "suspended" | "failed" = "failed";
    try {
      const executed = await executeRun({
        ...shared,
        claimed,
        signal: controller.signal,
        acquireSlot: () => acquireSlot(id),
      });
      result = executed === "suspended" ? "suspended" : "ended";
    } catch (error) {
      onError(error);
    } finally {
      if (active.get(id) === controller) active.delete(id);
      onFinished(claimed, result);
    }
  };

  return {
    execute(run) {
      const finished = executeClaimed(run).finally(() => finishing.delete(finished));
      finishing.add(finished);
      return finished;
    },
    has: (run) => active.has(run),
    ids: () => [...active.keys()],
    cancel: (run) => active.get(run)?.abort("cancelled"),
    async close() {
      for (const controller of active.values()) controller.abort("stopping");
      await Promise.all(finishing);
    },
  };
}
