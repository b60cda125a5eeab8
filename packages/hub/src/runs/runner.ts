/**
 * Executes runs: those that it claims from the store when they are due, and those that a caller
 * starts here. A claimed run is already stored. A started run is stored before it executes or, with a
 * deferred start (deferred-start.ts), before its first side effect. The claimer claims due runs while there are free slots, executions walk the
 * graphs, the heartbeat renews leases, and waiters resolve when runs have ended.
 */
import { type Instant, instant } from "../lib/elapsed.ts";
import type { ClaimedRun, ImmediateRun, LaneRun, NewRun } from "../store/run-store.ts";
import { createDeferredStart, type DeferredStart } from "./deferred-start.ts";
import { followRun, type RunChange } from "./follow-run.ts";
import { observeSteps } from "./run-metrics.ts";
import { createRunnerParts, type RunnerPartsOptions } from "./runner-parts.ts";
import type { Started, StartOptions } from "./started.ts";

type Defaulted = "leaseMs" | "concurrency" | "metrics" | "onError";

export type RunnerOptions = Omit<RunnerPartsOptions, Defaulted> &
  Partial<Pick<RunnerPartsOptions, Defaulted>>;

export interface Runner {
  /** Executes the run in this process. If a run with the same key exists, returns that run instead. */
  start(run: ImmediateRun, options?: StartOptions): Promise<Started>;
  /**
   * Executes the run in this process if its lane is below its limit. Otherwise the run is held, and
   * any process claims it later. If its `whenFull` is `skip`, it is not stored, and the result is
   * "full".
   */
  startInLane(run: LaneRun, options?: StartOptions): Promise<Started | "full">;
  /** Stores runs for any process to claim. Returns their ids, and null for skipped runs. */
  queue(runs: NewRun[]): Promise<(string | null)[]>;
  /** See `followRun`. */
  follow(tenant: string, run: string, signal: AbortSignal): AsyncGenerator<RunChange, void>;
  /** Releases the runs of this process to other processes, and starts no more runs. */
  close(): Promise<void>;
}

const DEFAULTS = { concurrency: 16, metrics: { observeRun() {}, observeStep() {} }, onError() {} };

const NOT_STARTED = "The hub is stopping; the run was not started.";
const RELEASED = "The hub is stopping; the run continues in another process or after the restart.";

export function createRunner(options: RunnerOptions): Runner {
  const { store, timers, worker, leaseMs = 15_000 } = options;
  const defaulted = { ...DEFAULTS, ...options, leaseMs };
  const parts = createRunnerParts(defaulted);
  const { save, slots, waiters, executions, claimer, listeners } = parts;
  const closing = new AbortController();
  const newLease = () => {
    const now = timers.now();
    return { worker, now, until: now + leaseMs };
  };
  const assertOpen = (): void => {
    if (closing.signal.aborted) throw new Error(NOT_STARTED);
  };
  /** Executes the run if it was claimed here; otherwise only waits for its end. */
  const begin = async (
    tenant: string,
    id: string,
    claimed: ClaimedRun | undefined,
    { signal, onProgress, since }: StartOptions & { since: Instant },
    deferred?: DeferredStart,
  ): Promise<Started> => {
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
      listeners.set(id, onProgress);
      const remove = () => void listeners.delete(id);
      ended.then(remove, remove);
    }
    if (claimed) void executions.execute(claimed, since, deferred);
    return { id, stored, ended };
  };
  const startDeferred = async (run: ImmediateRun, given: StartOptions): Promise<Started> => {
    const since = instant(timers);
    const lease = newLease();
    const prepared = await store.prepareRun(run, lease);
    const claimed = { ...prepared, steps: [...(given.pinned ?? [])] };
    assertOpen();
    const deferred = createDeferredStart({
      run,
      claimed,
      // `now` stays the start time; only the lease is new.
      newLease: () => ({ ...newLease(), now: lease.now }),
      save: observeSteps(save, claimed, defaulted.metrics),
      timers,
    });
    return begin(run.tenant, run.id, claimed, { ...given, since }, deferred);
  };
  const registerCall = (caller: string, { id, ended }: Started, signal?: AbortSignal) => {
    const removeCall = slots.addCall(caller, id);
    ended.then(removeCall, removeCall);
    signal?.addEventListener("abort", removeCall, { once: true });
    if (signal?.aborted) removeCall();
    // The called run needs a slot. Its caller has released its slot; see slots.ts.
    if (!executions.has(id)) claimer.claimDue();
  };

  return {
    async start(run, given = {}) {
      assertOpen();
      if (given.deferred) return startDeferred(run, given);
      const since = instant(timers);
      const claimed = await store.startRun(run, newLease());
      const existing = claimed ? undefined : await store.findRun(run.tenant, run.key ?? "");
      const started = await begin(run.tenant, existing?.id ?? run.id, claimed, { ...given, since });
      if (run.parent_run !== undefined) registerCall(run.parent_run, started, given.signal);
      return started;
    },
    async startInLane(run, given = {}) {
      assertOpen();
      const since = instant(timers);
      const result = await store.startInLane(run, newLease());
      if (result.outcome === "full") return "full";
      return result.outcome === "started"
        ? begin(run.tenant, run.id, result.claimed, { ...given, since })
        : begin(run.tenant, result.id, undefined, { ...given, since });
    },
    queue: (runs) => store.queueRuns(runs),
    follow: (tenant, run, signal) =>
      followRun({ store, timers }, tenant, run, AbortSignal.any([closing.signal, signal])),
    close() {
      closing.abort();
      return parts.close(RELEASED);
    },
  };
}
