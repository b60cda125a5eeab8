/**
 * Executes runs in this process: runs that it claims from the store when they are due, and runs that
 * a caller starts here. A claimed run is already stored. A started run is stored before it executes,
 * unless its start is deferred; see `createDeferredStart`.
 *
 * The claimer claims due runs while there is capacity. Executions walk the graphs of the flows.
 * The heartbeat renews leases. Waiters resolve when runs have ended.
 */

import { createHeartbeat } from "../../kernel/lib/heartbeat.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import { type Instant, instant } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { createWorkSlots, WORK_SLOTS } from "./activity.ts";
import { createClaimer, createRunLimit, createRunMemory } from "./claimer.ts";
import { createExecutions, type ExecutionsOptions } from "./executions.ts";
import { createWaiters, followRun, type RunChange } from "./follow-run.ts";
import { createLeases } from "./leases.ts";
import type { ClaimedRun, ImmediateRun, LaneRun, NewRun, Run, WrittenStep } from "./model.ts";
import type { NodeProgress } from "./node-services.ts";
import {
  createDeferredStart,
  createProgressCommit,
  type DeferredStart,
} from "./progress-commit.ts";
import { observeEnds, observeSteps, type WorkerLoad } from "./run-metrics.ts";
import { createRunWaits } from "./run-waits.ts";

export interface RunnerOptions
  extends Pick<ExecutionsOptions, "registry" | "loadSecrets" | "loadInput" | "services" | "timers">,
    Partial<
      Pick<
        ExecutionsOptions,
        "stepTimeoutMs" | "runTimeoutMs" | "suspendAfterMs" | "maxRunBytes" | "metrics" | "onError"
      >
    > {
  store: Store;
  /** The holder of the leases: a new id for each start of the process. */
  worker: string;
  leaseMs?: number;
  /**
   * How many claimed runs may execute here at the same time; undefined = as many as their memory allows.
   * A run that a caller starts here executes in any case.
   */
  concurrency?: number | undefined;
  /** Timers whose `defer` waits while other writes have priority; by default `timers`. */
  writeTimers?: Timers;
  /** The memory that runs may use before no more are claimed. */
  memoryBytes?: number;
  /** How many requests runs may have open at one origin. */
  originRequests?: number;
}

/** A run that a caller starts in this process. */
export interface StartedRun {
  id: string;
  /** Resolves when the run is stored. From then on, clients can read and cancel it. */
  stored: Promise<void>;
  /** Resolves with the run when it has ended, in any process. */
  ended: Promise<Run>;
}

export interface StartOptions {
  /** Cancels the run when it is aborted. */
  signal?: AbortSignal | undefined;
  /** The caller waits for the result, so the run may be stored late; see `createDeferredStart`. */
  deferred?: boolean | undefined;
  /** Steps that are recorded before the run starts. Only for deferred runs. */
  pinned?: readonly WrittenStep[] | undefined;
  /** Called when a tool that the run calls reports progress, if the run executes in this process. */
  onProgress?: ((progress: NodeProgress) => void) | undefined;
}

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
  leaseMs: 15_000,
  memoryBytes: 128 * 1024 * 1024,
  originRequests: 64,
  stepTimeoutMs: 60_000,
  runTimeoutMs: 24 * 3_600_000,
  suspendAfterMs: 1_000,
  maxRunBytes: 64_000_000,
  metrics: { observeRun() {}, observeStep() {} },
  onError() {},
};

const NOT_STARTED = "The hub is stopping; the run was not started.";
const RELEASED = "The hub is stopping; the run continues in another process or after the restart.";

export function createRunner(options: RunnerOptions): Runner {
  const allOptions = { ...DEFAULTS, ...options };
  const { store, timers, worker, leaseMs } = allOptions;
  const components = createComponents(allOptions);
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
    // The called run may be queued, and no longer counts its caller; see claimer.ts.
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

/** A transaction that renews many leases would delay the others. */
const RENEWED_AT_ONCE = 200;

/** Creates the components of the runner, and connects them to each other and to the store's notices. */
function createComponents(
  options: RunnerOptions & Required<Pick<RunnerOptions, keyof typeof DEFAULTS>>,
) {
  const { store, timers, worker, leaseMs, memoryBytes, onError } = options;
  const leaseOptions = { store, worker, leaseMs, timers, onError };
  const leases = createLeases(leaseOptions);
  const limit = createRunLimit(options.concurrency ?? Number.POSITIVE_INFINITY, (id) =>
    executions.has(id),
  );
  const slots = createWorkSlots(timers, () => claimer.onSlotFree());
  const memory = createRunMemory(memoryBytes);
  const waits = createRunWaits(options);
  const waiters = createWaiters({ store, timers, onError });
  const { writeTimers = timers } = options;
  const save = createProgressCommit({ store, timers: writeTimers });
  /** By run id: the listener that gets the progress of the tools that the run calls. */
  const progressListeners = new Map<string, (progress: NodeProgress) => void>();
  const executions = createExecutions({
    ...options,
    loadOutput: store.loadOutput,
    save,
    slots,
    memory,
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
      // called run stops executing here before it has ended, its caller no longer counts: see `RunLimit`.
      if (result === "error" || (isCallerWaiting && result !== "ended")) claimer.claimDue();
    },
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
  const unsubscribe = store.subscribe(
    (notice) => {
      if (notice.topic === "runs") claimer.claimAt(notice.due);
      else if (notice.topic === "run_cancel") executions.cancel(notice.run);
      // If the run executes here, `onFinished` checks its waiters.
      else if (notice.topic === "run_ended" && !executions.has(notice.run))
        waiters.check(notice.run);
      else if (notice.topic === "gap") {
        waiters.checkAll();
        claimer.claimDue();
      }
    },
    ["runs", "run_cancel", "run_ended", "gap"],
  );
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
      origins: waits.listOrigins().map(({ origin, open, waiting }) => ({
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
