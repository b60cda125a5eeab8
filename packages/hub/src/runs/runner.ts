/**
 * Takes runs that are due and walks them, as many at once as it may, and keeps their leases. It
 * wakes when the store says that there is something to do, or when the next run is due: it does not
 * poll. A run that somebody waits for is started here at once, and is as durable as the others.
 */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { Json } from "@signalbox/rules/json.ts";
import {
  type ClaimedRun,
  type ImmediateRun,
  type LaneRun,
  type NewRun,
  type Run,
  type Step,
  TERMINAL_STATUSES,
} from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { type ExecuteOptions, executeRun } from "./execute-run.ts";
import { createProgressCommit } from "./progress-commit.ts";

export interface RunnerOptions extends Pick<ExecuteOptions, "secrets" | "loadInput" | "reach"> {
  store: Pick<
    Store,
    | "claimRuns"
    | "renewRuns"
    | "releaseRuns"
    | "saveProgress"
    | "nextDue"
    | "startRun"
    | "startInLane"
    | "queueRuns"
    | "getRun"
    | "findRun"
    | "cancelRun"
    | "subscribe"
    | "isDataError"
  >;
  registry: NodeRegistry;
  /** Unlike that of any other process, also of the same one before it was restarted. */
  worker: string;
  now?: () => number;
  /** Lets the host do what else there is first; see progress-commit.ts. */
  soon?: (work: () => void) => void;
  onError?: (error: unknown) => void;
  /** Runs that are claimed and walked at once. Those that somebody waits for come on top. */
  atOnce?: number;
  leaseMs?: number;
  stepTimeoutMs?: number;
  runTimeoutMs?: number;
  parkAfterMs?: number;
}

/** A run that somebody waits for. */
export interface Started {
  id: string;
  /** Resolves with the run when it is at its end, wherever that is. */
  ended: Promise<Run>;
}

export interface RunWatch {
  onStep?: (step: Step) => void;
  /** Cancels the run. */
  signal?: AbortSignal;
}

export interface Runner {
  /** Begins at once, in this process. With a key that is known, joins the run that has it. */
  start(run: ImmediateRun, watch?: RunWatch): Promise<Started>;
  /**
   * Begins at once, in this process, where its lane has room. Else it waits for its turn, and is taken
   * by whoever has room then; `full` where it does not wait.
   */
  enter(run: LaneRun, watch?: RunWatch): Promise<Started | "full">;
  /** To be taken by anybody; null for what does not wait, where its lane is full. */
  queue(runs: NewRun[]): Promise<(string | null)[]>;
  /** Gives what it holds to others, and starts nothing more. */
  close(): Promise<void>;
}

/** How long it may take to hear of something at the latest, should a notice be lost. */
const LOOK_AGAIN_MS = 30_000;
/** After trouble with the store. */
const TRY_AGAIN_MS = 1_000;
const STOPPING = "The hub is stopping; the run goes on when it is back.";

export function createRunner(options: RunnerOptions): Runner {
  const { store, registry, worker, secrets, loadInput, reach } = options;
  const {
    now = Date.now,
    soon = (work) => void setTimeout(work, 0),
    onError = () => {},
    atOnce = 16,
    leaseMs = 15_000,
    stepTimeoutMs = 60_000,
    runTimeoutMs = 24 * 3_600_000,
    parkAfterMs = 2_000,
  } = options;
  const save = createProgressCommit({ store, soon });
  const active = new Map<string, AbortController>();
  const walks = new Set<Promise<void>>();
  const watchers = new Map<string, Set<(step: Step) => void>>();
  const waiting = new Map<string, Set<Waiter>>();
  /** Those that were taken, not started here. */
  const claimed = new Map<string, ClaimedRun>();
  /** By the run that called them: runs that it waits for. */
  const called = new Map<string, Set<string>>();
  let closed = false;
  /**
   * A run keeps its place while one that it called is walked here on top of the others. Else it gives
   * it away: the called one (parked, or handed over) has to be taken like any other, and callers that
   * keep all places would wait for ever for what never gets one.
   */
  const lends = (id: string): boolean =>
    [...(called.get(id) ?? [])].some(
      (child) => !active.has(child) || claimed.has(child) || lends(child),
    );
  /** Runs that have lent their place, and wait to have one again before they go on. */
  const returning = new Map<string, PromiseWithResolvers<void>>();
  const room = () => {
    let taken = 0;
    for (const id of claimed.keys()) if (!returning.has(id) && !lends(id)) taken += 1;
    return atOnce - taken;
  };
  const takePlace = async (id: string): Promise<void> => {
    if (!claimed.has(id) || (!returning.has(id) && room() >= 0)) return;
    const place = returning.get(id) ?? Promise.withResolvers<void>();
    returning.set(id, place);
    await place.promise;
  };
  /** Before anything new is taken. */
  const letBackIn = (): void => {
    for (const [id, { resolve }] of returning) {
      if (room() <= 0) return;
      returning.delete(id);
      resolve();
    }
  };

  const walk = (run: ClaimedRun): Promise<void> => {
    const walked = walkToItsEnd(run).finally(() => walks.delete(walked));
    walks.add(walked);
    return walked;
  };
  const walkToItsEnd = async (run: ClaimedRun): Promise<void> => {
    const { id } = run.run;
    const controller = new AbortController();
    // Where its lease was over before its walk was, what is left of that has nothing more to say.
    active.get(id)?.abort("stopping");
    active.set(id, controller);
    let isParked = false;
    try {
      const executed = await executeRun({
        claimed: run,
        registry,
        reach,
        save,
        secrets,
        loadInput,
        now,
        signal: controller.signal,
        onStep(step) {
          for (const tell of watchers.get(id) ?? []) tell(step);
        },
        takePlace: () => takePlace(id),
        stepTimeoutMs,
        runTimeoutMs,
        parkAfterMs,
      });
      isParked = executed === "parked";
    } catch (error) {
      onError(error); // the store's trouble: when the lease is over, somebody takes the run over
      look(); // to know when that is
    } finally {
      if (active.get(id) === controller) {
        active.delete(id);
        returning.delete(id);
      }
      tellEnded(id);
      if (isParked && called.has(run.run.parent_run ?? "")) look(); // its caller lends its place
    }
  };
  const tellEnded = (id: string) => {
    for (const { check } of waiting.get(id) ?? []) check();
  };

  // --- Taking what is due.
  let looking: Promise<void> | undefined;
  let again = false;
  let alarm: ReturnType<typeof setTimeout> | undefined;
  let alarmAt = Number.POSITIVE_INFINITY;
  const look = (): void => {
    if (closed) return;
    letBackIn();
    again = true;
    looking ??= takeAll().finally(() => {
      looking = undefined;
      if (again && !closed && room() > 0) look();
    });
  };
  const takeAll = async (): Promise<void> => {
    clearTimeout(alarm);
    try {
      while (again && !closed && room() > 0) {
        // Runs that are walked side by side end together: their places are filled in one go.
        await new Promise<void>(soon);
        again = false;
        const at = now();
        const most = room();
        const runs = await store.claimRuns({ worker, now: at, until: at + leaseMs }, most);
        if (closed) return; // whoever closes gives them back
        if (runs.length === most) again = true;
        for (const run of runs) {
          const { id } = run.run;
          claimed.set(id, run);
          void walk(run).finally(() => {
            if (claimed.get(id) === run) claimed.delete(id);
            look();
          });
        }
      }
      // With no room left, the next run to end looks again.
      if (room() > 0) setAlarm((await store.nextDue()) ?? Number.POSITIVE_INFINITY);
    } catch (error) {
      onError(error);
      setAlarm(now() + TRY_AGAIN_MS);
    }
  };
  const setAlarm = (due: number): void => {
    clearTimeout(alarm);
    if (closed) return;
    alarmAt = due;
    alarm = setTimeout(look, Math.min(LOOK_AGAIN_MS, Math.max(1, due - now())));
    alarm.unref?.();
  };

  const beat = setInterval(async () => {
    try {
      const at = now();
      // Only what is walked: a run whose walk broke off must come to somebody who goes on with it.
      const lease = { worker, now: at, until: at + leaseMs };
      const { cancel } = await store.renewRuns(lease, [...active.keys()]);
      for (const id of cancel) active.get(id)?.abort("cancelled");
    } catch (error) {
      onError(error);
    }
  }, leaseMs / 3);
  beat.unref?.();

  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "runs") {
      if (notice.due <= now()) look();
      else if (notice.due < alarmAt) setAlarm(notice.due);
    }
    if (notice.topic === "run_cancel") active.get(notice.run)?.abort("cancelled");
    // Of a run that is walked here, whoever follows its steps hears of the last one first.
    else if (notice.topic === "run_ended" && !active.has(notice.run)) tellEnded(notice.run);
    else if (notice.topic === "gap") {
      for (const id of waiting.keys()) tellEnded(id);
      look();
    }
  });
  look();

  /** Resolves when a run is at its end, wherever it is walked. */
  const untilEnded = (tenant: string, id: string, isNew: boolean): Promise<Run> => {
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    promise.catch(() => {}); // nobody has to wait for it
    const waiters = waiting.get(id) ?? new Set();
    waiting.set(id, waiters);
    const leave = () => {
      waiters.delete(waiter);
      if (waiters.size === 0) waiting.delete(id);
    };
    const check = async () => {
      try {
        const run = await store.getRun(tenant, id);
        if (run && !TERMINAL_STATUSES.includes(run.status)) return;
        leave();
        if (run) resolve(run);
        else reject(new Error("The run is no longer there."));
      } catch (error) {
        onError(error);
      }
    };
    const waiter: Waiter = {
      check: () => void check(),
      giveUp() {
        leave();
        reject(new Error(STOPPING));
      },
    };
    waiters.add(waiter);
    if (!isNew) waiter.check();
    return promise;
  };

  const watchSteps = (id: string, onStep: RunWatch["onStep"]) => {
    if (!onStep) return () => {};
    const tells = watchers.get(id) ?? new Set();
    watchers.set(id, tells.add(onStep));
    return () => {
      if (tells.delete(onStep) && tells.size === 0) watchers.delete(id);
    };
  };

  /** Cancels the run when the signal says so; answers with its end. */
  const follow = (
    tenant: string,
    id: string,
    signal: AbortSignal | undefined,
    isNew: boolean,
  ): Promise<Run> => {
    // It may be anywhere by now: parked, or in another process.
    const cancel = () => {
      if (!closed) void store.cancelRun(tenant, id, now()).catch(onError);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const ended = untilEnded(tenant, id, isNew);
    const leave = () => signal?.removeEventListener("abort", cancel);
    ended.then(leave, leave);
    return ended;
  };

  const noteCall = (
    parent: string,
    id: string,
    ended: Promise<unknown>,
    left: AbortSignal | undefined,
  ) => {
    const runs = called.get(parent) ?? new Set();
    called.set(parent, runs.add(id));
    const leave = () => {
      if (runs.delete(id) && runs.size === 0) called.delete(parent);
    };
    ended.then(leave, leave);
    left?.addEventListener("abort", leave, { once: true });
    if (left?.aborted) leave();
    if (!active.has(id)) look();
  };

  return {
    async start(run, { onStep, signal } = {}) {
      if (closed) throw new Error(STOPPING);
      const at = now();
      const own = await store.startRun(run, { worker, now: at, until: at + leaseMs });
      if (closed) {
        if (own) await store.releaseRuns(worker, now());
        throw new Error(STOPPING);
      }
      const id = own ? run.id : ((await store.findRun(run.tenant, run.key ?? ""))?.id ?? run.id);
      const unwatch = watchSteps(id, onStep);
      const ended = follow(run.tenant, id, signal, own !== undefined);
      ended.then(unwatch, unwatch);
      if (own) void walk(own);
      if (run.parent_run !== undefined) noteCall(run.parent_run, id, ended, signal);
      return { id, ended };
    },
    async enter(run, { onStep, signal } = {}) {
      if (closed) throw new Error(STOPPING);
      // Before it can be taken: then none of its steps is missed.
      const unwatch = watchSteps(run.id, onStep);
      try {
        const at = now();
        const entered = await store.startInLane(run, { worker, now: at, until: at + leaseMs });
        if (entered.outcome === "full") {
          unwatch();
          return "full";
        }
        const own = entered.outcome === "started" ? entered.claimed : undefined;
        if (closed) {
          if (own) await store.releaseRuns(worker, now());
          throw new Error(STOPPING);
        }
        const id = entered.outcome === "queued" ? entered.id : run.id;
        const ended = follow(run.tenant, id, signal, own !== undefined);
        ended.then(unwatch, unwatch);
        if (own) void walk(own);
        return { id, ended };
      } catch (error) {
        unwatch();
        throw error;
      }
    },
    queue: (runs) => store.queueRuns(runs),
    async close() {
      closed = true;
      clearInterval(beat);
      clearTimeout(alarm);
      unsubscribe();
      for (const controller of active.values()) controller.abort("stopping");
      for (const waiters of waiting.values()) for (const { giveUp } of waiters) giveUp();
      await looking;
      await Promise.all(walks);
      await store.releaseRuns(worker, now());
    },
  };
}

/** Somebody who waits for the end of a run. */
interface Waiter {
  check(): void;
  giveUp(): void;
}

/** What a caller is told of a run that ended. */
export type Outcome =
  | { outcome: "succeeded"; output: Json }
  | { outcome: "failed"; message: string; code: string; node_id: string | undefined }
  | { outcome: "cancelled"; message: string };

export function outcomeOf({ status, output, error }: Run): Outcome {
  if (status === "succeeded") return { outcome: "succeeded", output };
  if (status === "cancelled")
    return { outcome: "cancelled", message: error?.message ?? "The run was cancelled." };
  return {
    outcome: "failed",
    message: error?.message ?? "The run failed.",
    code: error?.code ?? "failed",
    node_id: error?.node_id,
  };
}
