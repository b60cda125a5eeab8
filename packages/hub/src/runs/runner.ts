/**
 * Executes runs: those that it claims from the store when they are due, and those that a caller
 * starts here and waits for. Both are equally durable. It composes four parts: slots limit the
 * concurrency, the claimer takes due runs, the heartbeat renews leases, the waiters report ends.
 */
import type { ClaimedRun, ImmediateRun, LaneRun, NewRun, Run } from "../store/run-store.ts";
import { followRun, type RunChange } from "./follow-run.ts";
import { createRunnerParts, type RunnerPartsOptions } from "./runner-parts.ts";

type Defaulted = "leaseMs" | "concurrency" | "onError";

export type RunnerOptions = Omit<RunnerPartsOptions, Defaulted> &
  Partial<Pick<RunnerPartsOptions, Defaulted>>;

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
  const { store, timers, worker, leaseMs = 15_000 } = options;
  const parts = createRunnerParts({ onError: () => {}, concurrency: 16, ...options, leaseMs });
  const { slots, waiters, executions, claimer } = parts;
  const closing = new AbortController();
  const newLease = () => {
    const now = timers.now();
    return { worker, now, until: now + leaseMs };
  };
  /** The hub may have begun to stop while a run was being stored. */
  const assertOpen = async (claimed?: ClaimedRun): Promise<void> => {
    if (!closing.signal.aborted) return;
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
  const begin = (
    { tenant }: Pick<Run, "tenant">,
    id: string,
    claimed: ClaimedRun | undefined,
    signal: AbortSignal | undefined,
  ): Started => {
    const ended = waiters.untilEnded(tenant, id, { isNew: claimed !== undefined, signal });
    if (claimed) void executions.execute(claimed);
    return { id, ended };
  };

  return {
    async start(run, { signal } = {}) {
      await assertOpen();
      const claimed = await store.startRun(run, newLease());
      await assertOpen(claimed);
      const known = claimed ? undefined : await store.findRun(run.tenant, run.key ?? "");
      const started = begin(run, known?.id ?? run.id, claimed, signal);
      if (run.parent_run !== undefined) noteCall(run.parent_run, started.id, started.ended, signal);
      return started;
    },
    async startInLane(run, { signal } = {}) {
      await assertOpen();
      const entered = await store.startInLane(run, newLease());
      if (entered.outcome === "full") return "full";
      const claimed = entered.outcome === "started" ? entered.claimed : undefined;
      await assertOpen(claimed);
      return begin(run, entered.outcome === "queued" ? entered.id : run.id, claimed, signal);
    },
    queue: (runs) => store.queueRuns(runs),
    follow: (tenant, run, signal) =>
      followRun({ store, timers }, tenant, run, AbortSignal.any([closing.signal, signal])),
    close() {
      closing.abort();
      return parts.close(STOPPING);
    },
  };
}
