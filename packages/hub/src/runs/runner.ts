/**
 * Executes runs: those that it claims from the store when they are due, and those that a caller
 * starts here and waits for. Both are equally durable. It composes four parts: slots limit the
 * concurrency, the claimer takes due runs, the heartbeat renews leases, the waiters report ends.
 */
import type { ClaimedRun, ImmediateRun, LaneRun, NewRun, Run } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { createClaimer } from "./claimer.ts";
import type { ExecuteOptions } from "./execute-run.ts";
import { createExecutions } from "./executions.ts";
import { followRun, type RunChange } from "./follow-run.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { createProgressCommit } from "./progress-commit.ts";
import { createSlots } from "./slots.ts";
import { createWaiters } from "./waiters.ts";

export interface RunnerOptions
  extends Pick<ExecuteOptions, "registry" | "secrets" | "loadInput" | "services" | "timers">,
    Partial<Pick<ExecuteOptions, "stepTimeoutMs" | "runTimeoutMs" | "suspendAfterMs">> {
  store: Store;
  /** Unique to this process and this start of it: leases are bound to it. */
  worker: string;
  onError?: (error: unknown) => void;
  /** How many claimed runs execute concurrently. Runs that a caller waits for come on top. */
  concurrency?: number;
  leaseMs?: number;
}

export interface Started {
  id: string;
  /** Resolves with the run when it has ended, in whichever process. */
  ended: Promise<Run>;
}

export interface StartOptions {
  /** Cancels the run. */
  signal?: AbortSignal | undefined;
}

export interface Runner {
  /** Executes the run in this process. With a known key, joins the run that has it. */
  start(run: ImmediateRun, options?: StartOptions): Promise<Started>;
  /**
   * Executes the run in this process if its lane is below its limit. Otherwise the run waits in its
   * lane and any process claims it later; `full` if the lane does not let it wait.
   */
  startInLane(run: LaneRun, options?: StartOptions): Promise<Started | "full">;
  /** Stores runs for any process to claim; null for a run that its full lane rejects. */
  queue(runs: NewRun[]): Promise<(string | null)[]>;
  /** See `followRun`. */
  follow(tenant: string, run: string, signal: AbortSignal): AsyncGenerator<RunChange, void>;
  /** Releases its runs to other processes and starts nothing more. */
  close(): Promise<void>;
}

const STOPPING = "The hub is stopping; the run continues after the restart.";

export function createRunner(options: RunnerOptions): Runner {
  const { store, timers, worker, onError = () => {}, concurrency = 16, leaseMs = 15_000 } = options;
  const closing = new AbortController();
  const isClosed = () => closing.signal.aborted;
  const slots = createSlots({ concurrency, isExecuting: (id) => executions.has(id) });
  const waiters = createWaiters({ store, timers, onError });
  const executions = createExecutions({
    shared: {
      stepTimeoutMs: 60_000,
      runTimeoutMs: 24 * 3_600_000,
      suspendAfterMs: 2_000,
      ...options,
      save: createProgressCommit({ store, timers }),
    },
    acquireSlot: slots.acquireSlot,
    onStarted: () => heartbeat.start(),
    onFinished({ run: { id, parent_run } }, result) {
      if (!executions.has(id)) slots.abandon(id);
      waiters.check(id);
      const callerWaits = slots.hasCalls(parent_run ?? "");
      // A failed run is due again when its lease expires. A suspended run's caller releases its slot.
      if (result === "failed" || (result === "suspended" && callerWaits)) claimer.claimDue();
    },
    onError,
  });
  const { execute } = executions;
  const leases = { store, worker, leaseMs, timers, onError };
  const heartbeat = createHeartbeat({
    ...leases,
    executing: executions.ids,
    cancel: executions.cancel,
  });
  const claimer = createClaimer({ ...leases, slots, execute });
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "runs") claimer.claimAt(notice.due);
    else if (notice.topic === "run_cancel") executions.cancel(notice.run);
    else if (notice.topic === "run_ended" && !executions.has(notice.run)) waiters.check(notice.run);
    else if (notice.topic === "gap") {
      waiters.checkAll();
      claimer.claimDue();
    }
  });
  claimer.claimDue();

  const newLease = () => {
    const now = timers.now();
    return { worker, now, until: now + leaseMs };
  };
  /** The hub may have begun to stop while a run was being stored. */
  const assertOpen = async (claimed?: ClaimedRun): Promise<void> => {
    if (!isClosed()) return;
    if (claimed) await store.releaseRuns(worker, timers.now());
    throw new Error(STOPPING);
  };
  const noteCall = (caller: string, id: string, ended: Promise<Run>, signal?: AbortSignal) => {
    const leave = slots.addCall(caller, id);
    ended.then(leave, leave);
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted) leave();
    if (!executions.has(id)) claimer.claimDue(); // the caller has released its slot
  };

  return {
    async start(run, { signal } = {}) {
      await assertOpen();
      const claimed = await store.startRun(run, newLease());
      await assertOpen(claimed);
      const known = claimed ? undefined : await store.findRun(run.tenant, run.key ?? "");
      const id = known?.id ?? run.id;
      const ended = waiters.untilEnded(run.tenant, id, { isNew: claimed !== undefined, signal });
      if (claimed) void execute(claimed);
      if (run.parent_run !== undefined) noteCall(run.parent_run, id, ended, signal);
      return { id, ended };
    },
    async startInLane(run, { signal } = {}) {
      await assertOpen();
      const entered = await store.startInLane(run, newLease());
      if (entered.outcome === "full") return "full";
      const claimed = entered.outcome === "started" ? entered.claimed : undefined;
      await assertOpen(claimed);
      const id = entered.outcome === "queued" ? entered.id : run.id;
      const ended = waiters.untilEnded(run.tenant, id, { isNew: claimed !== undefined, signal });
      if (claimed) void execute(claimed);
      return { id, ended };
    },
    queue: (runs) => store.queueRuns(runs),
    follow: (tenant, run, signal) =>
      followRun({ store, timers }, tenant, run, AbortSignal.any([closing.signal, signal])),
    async close() {
      closing.abort();
      heartbeat.stop();
      unsubscribe();
      waiters.close(STOPPING);
      await Promise.all([claimer.close(), executions.close()]);
      await store.releaseRuns(worker, timers.now());
    },
  };
}
