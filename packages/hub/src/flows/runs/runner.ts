/**
 * Executes runs in this process: runs that it claims from the store when they are due, and runs that
 * a caller starts here. A claimed run is already stored. A started run is stored before it executes,
 * unless its start is deferred; see deferred-start.ts.
 *
 * The claimer claims due runs while there is capacity. Executions walk the graphs of the flows.
 * The heartbeat renews leases. Waiters resolve when runs have ended.
 */
import { type Instant, instant } from "../../kernel/lib/elapsed.ts";
import { createDeferredStart, type DeferredStart } from "./deferred-start.ts";
import { followRun, type RunChange } from "./follow-run.ts";
import type { ClaimedRun, ImmediateRun, LaneRun, NewRun } from "./model.ts";
import { observeSteps } from "./run-metrics.ts";
import { createRunnerComponents, type RunnerComponentsOptions } from "./runner-components.ts";
import type { StartedRun, StartOptions } from "./started-run.ts";
import type { WorkerLoad } from "./worker-load.ts";

type OptionWithDefault =
  | "leaseMs"
  | "concurrency"
  | "memoryBytes"
  | "originRequests"
  | "metrics"
  | "onError";

export type RunnerOptions = Omit<RunnerComponentsOptions, OptionWithDefault> &
  Partial<Pick<RunnerComponentsOptions, OptionWithDefault>>;

export interface Runner {
  /**
   * Executes the run in this process. If a run with the same key exists, returns that run instead.
   */
  start(run: ImmediateRun, options?: StartOptions): Promise<StartedRun>;
  /**
   * Executes the run in this process if its lane is below its limit. If the lane has reached its
   * limit, the run is held, and any process claims it later. With `whenFull: "skip"`, such a run is
   * not stored, and the result is "full". If a run with the same key exists, returns that run instead.
   */
  startInLane(run: LaneRun, options?: StartOptions): Promise<StartedRun | "full">;
  /** Stores runs, which any process can claim. Returns their ids; see `RunStore.queueRuns`. */
  queue(runs: NewRun[]): Promise<(string | null)[]>;
  /** Yields the changes of a run until it ends; see `followRun`. */
  follow(tenant: string, run: string, signal: AbortSignal): AsyncGenerator<RunChange, void>;
  readLoad(): WorkerLoad;
  /** Stops executing runs, and releases them so that other processes can claim them. */
  close(): Promise<void>;
}

const DEFAULTS = {
  concurrency: undefined,
  memoryBytes: 128 * 1024 * 1024,
  originRequests: 64,
  metrics: { observeRun() {}, observeStep() {} },
  onError() {},
};

const NOT_STARTED = "The hub is stopping; the run was not started.";
const RELEASED = "The hub is stopping; the run continues in another process or after the restart.";

export function createRunner(options: RunnerOptions): Runner {
  const { store, timers, worker, leaseMs = 15_000 } = options;
  const allOptions = { ...DEFAULTS, ...options, leaseMs };
  const components = createRunnerComponents(allOptions);
  const { save, limit, memory, waiters, executions, claimer, progressListeners } = components;
  const closing = new AbortController();
  const newLease = () => {
    const now = timers.now();
    return { worker, now, until: now + leaseMs };
  };
  const assertNotClosing = (): void => {
    if (closing.signal.aborted) throw new Error(NOT_STARTED);
  };
  /** Begins to execute the run if `claimed` is set. In any case, `ended` of the result resolves when the run has ended. */
  const begin = async (
    tenant: string,
    id: string,
    claimed: ClaimedRun | undefined,
    { signal, onProgress, leaseStart }: StartOptions & { leaseStart: Instant },
    deferred?: DeferredStart,
  ): Promise<StartedRun> => {
    // The hub may have begun to stop while the run was being stored.
    if (closing.signal.aborted) {
      if (claimed) await store.releaseRuns(worker, timers.now());
      throw new Error(RELEASED);
    }
    const stored = deferred?.stored ?? Promise.resolve();
    const justClaimed = claimed !== undefined;
    const ended = waiters.untilEnded(tenant, id, { justClaimed, stored, signal });
    stored.catch((error: Error) => waiters.reject(id, error));
    if (onProgress) {
      progressListeners.set(id, onProgress);
      const removeListener = () => void progressListeners.delete(id);
      ended.then(removeListener, removeListener);
    }
    if (claimed) void executions.execute(claimed, leaseStart, deferred); // never rejects
    return { id, stored, ended };
  };
  const startDeferred = async (
    run: ImmediateRun,
    startOptions: StartOptions,
  ): Promise<StartedRun> => {
    const leaseStart = instant(timers);
    const lease = newLease();
    const prepared = await store.prepareRun(run, lease);
    const claimed = { ...prepared, steps: [...(startOptions.pinned ?? [])] };
    assertNotClosing();
    const deferred = createDeferredStart({
      run,
      claimed,
      // `now` is stored as the start time of the run. Only the end of the lease is new.
      newLease: () => ({ ...newLease(), now: lease.now }),
      save: observeSteps(save, claimed, allOptions.metrics, startOptions.pinned),
      timers,
    });
    return begin(run.tenant, run.id, claimed, { ...startOptions, leaseStart }, deferred);
  };
  const registerCall = (caller: string, { id, ended }: StartedRun, signal?: AbortSignal) => {
    const removeFromLimit = limit.addCall(caller, id);
    const countMemory = memory.pause(caller);
    let isWaiting = true;
    const removeCall = () => {
      if (isWaiting) countMemory();
      isWaiting = false;
      removeFromLimit();
    };
    ended.then(removeCall, removeCall);
    signal?.addEventListener("abort", removeCall, { once: true });
    if (signal?.aborted) removeCall();
    // The called run may be queued, and no longer counts its caller; see run-limit.ts and run-memory.ts.
    if (!executions.has(id)) claimer.claimDue();
  };

  return {
    async start(run, startOptions = {}) {
      assertNotClosing();
      if (startOptions.deferred) return startDeferred(run, startOptions);
      const leaseStart = instant(timers);
      const claimed = await store.startRun(run, newLease());
      const existing = claimed ? undefined : await store.findRun(run.tenant, run.key ?? "");
      const id = existing?.id ?? run.id;
      const started = await begin(run.tenant, id, claimed, { ...startOptions, leaseStart });
      if (run.parent_run !== undefined) registerCall(run.parent_run, started, startOptions.signal);
      return started;
    },
    async startInLane(run, startOptions = {}) {
      assertNotClosing();
      const leaseStart = instant(timers);
      const result = await store.startInLane(run, newLease());
      if (result.outcome === "full") return "full";
      return result.outcome === "started"
        ? begin(run.tenant, run.id, result.claimed, { ...startOptions, leaseStart })
        : begin(run.tenant, result.id, undefined, { ...startOptions, leaseStart });
    },
    queue: (runs) => store.queueRuns(runs),
    follow: (tenant, run, signal) =>
      followRun({ store, timers }, tenant, run, AbortSignal.any([closing.signal, signal])),
    readLoad: components.readLoad,
    close() {
      closing.abort();
      return components.close(RELEASED);
    },
  };
}
