/**
 * Claims due runs while this process has capacity for them: below the limit of runs, with free slots, and
 * with memory. A flow whose share of the slots or of the memory is used up is left out. Also has that limit
 * and that memory.
 */
import { type ClaimLoop, createClaimLoop } from "../../kernel/lib/claim-loop.ts";
import { createShares, type GroupPath, type Shares } from "../../kernel/lib/shares.ts";
import { type Instant, instant, type Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import type { WorkSlots } from "./activity.ts";
import type { ClaimedRun, ClaimShares } from "./model.ts";

export interface ClaimerOptions {
  store: Pick<Store, "claimRuns" | "nextDue">;
  worker: string;
  leaseMs: number;
  timers: Timers;
  limit: Pick<RunLimit, "countFree" | "occupy" | "admitWaiting">;
  slots: Pick<WorkSlots, "shares">;
  memory: Pick<RunMemory, "shares">;
  /** Renews the leases of this process that have expired, so that it does not claim its own runs. */
  renewExpired(): Promise<void>;
  /** Resolves when this process no longer executes the run. */
  execute(run: ClaimedRun, leaseStart: Instant): Promise<void>;
  onError(error: unknown): void;
}

export interface Claimer extends ClaimLoop {
  /** Claims if a former claim has left out runs, because there was no free slot for them. */
  onSlotFree(): void;
}

/**
 * After a claim that has left out runs, the store does not return when the next run is due that was not left
 * out, but was missed, for example because another worker had locked it.
 */
const MISSED_MS = 1_000;

export function createClaimer(options: ClaimerOptions): Claimer {
  const { store, worker, leaseMs, timers, limit, slots, memory } = options;
  const { renewExpired, execute, onError } = options;
  /** Why the last claim has left out runs. */
  const left = { forSlots: false, forMemory: false };

  const countFree = () =>
    Math.min(limit.countFree(), slots.shares.free, Math.floor(memory.shares.free / RUN_BYTES));
  const createClaimShares = (): ClaimShares => ({
    draft() {
      const draftSlots = slots.shares.draft();
      const draftMemory = memory.shares.draft();
      return {
        room: (path) =>
          Math.max(
            0,
            Math.min(draftSlots.room(path), Math.floor(draftMemory.room(path) / RUN_BYTES)),
          ),
        leaveOut(path) {
          left.forSlots ||= draftSlots.room(path) < 1;
          left.forMemory ||= draftMemory.room(path) < RUN_BYTES;
        },
        countFull: (path) => draftSlots.countFull(path, 1) + draftMemory.countFull(path, RUN_BYTES),
        take(path: GroupPath) {
          draftSlots.take(path, 1);
          draftMemory.take(path, RUN_BYTES);
        },
      };
    },
  });
  const loop = createClaimLoop<{ claimed: ClaimedRun; leaseStart: Instant }>({
    timers,
    freeCapacity() {
      const free = countFree();
      if (free <= 0) left.forSlots ||= slots.shares.free < 1;
      return free;
    },
    async claim(max) {
      await renewExpired();
      const leaseStart = instant(timers);
      const { now } = leaseStart;
      Object.assign(left, { forSlots: false, forMemory: false });
      const runs = await store.claimRuns(
        { worker, now, until: now + leaseMs },
        max,
        createClaimShares(),
      );
      return runs.map((claimed) => ({ claimed, leaseStart }));
    },
    async nextDue() {
      if (!left.forSlots && !left.forMemory) return store.nextDue();
      // A claim begins when a run that is left out can be admitted; until then, its due time has no effect.
      const now = timers.now();
      return Math.min((await store.nextDue(now)) ?? Number.POSITIVE_INFINITY, now + MISSED_MS);
    },
    begin({ claimed, leaseStart }) {
      const release = limit.occupy(claimed.run.id);
      return execute(claimed, leaseStart).finally(release);
    },
    // Runs that continue after a call are admitted before new runs are claimed.
    onRequested: limit.admitWaiting,
    onError,
  });
  return {
    ...loop,
    onSlotFree() {
      if (left.forSlots) loop.claimDue();
    },
  };
}

/**
 * The limit `SIGNALBOX_RUNS_AT_ONCE`: how many runs from the queue may execute here at the same time, also
 * those that only wait. If a run waits for a run that it has called, and the called run must be claimed,
 * the caller does not count, and is admitted again before it continues. Otherwise callers could reach the
 * limit, and the called runs would never start.
 */
export interface RunLimit {
  /**
   * How many more runs may be claimed. Negative if a call has ended, and another run was claimed in place
   * of the caller.
   */
  countFree(): number;
  /** Counts a claimed run; the returned function ends that. */
  occupy(run: string): () => void;
  /** Registers that `caller` waits for `called`; the returned function removes the registration. */
  addCall(caller: string, called: string): () => void;
  hasCalls(caller: string): boolean;
  /**
   * Resolves when a caller may continue: immediately if no other run was claimed in its place, or if it was
   * not claimed from the queue.
   */
  readmit(run: string): Promise<void>;
  /** Removes a run that waits in `readmit`, because its execution has ended. */
  removeWaiting(run: string): void;
  /** Admits the runs that wait in `readmit`, in order, up to the limit. */
  admitWaiting(): void;
}

/**
 * `max`: infinity if there is no limit. `isExecuting`: true while this process executes the run, claimed or
 * not.
 */
export function createRunLimit(max: number, isExecuting: (run: string) => boolean): RunLimit {
  /** The runs that were claimed here. The symbol identifies the claim. */
  const claimed = new Map<string, symbol>();
  /** For each caller, the called runs that it waits for. */
  const calls = new Map<string, Set<string>>();
  const waiting = new Map<string, PromiseWithResolvers<void>>();

  /**
   * A caller counts while all runs that it waits for execute here without a claim: they count together
   * with it. If one of them, or of the runs that they call, must be or was claimed, the caller does not
   * count.
   */
  const isReplaced = (caller: string): boolean =>
    [...(calls.get(caller) ?? [])].some(
      (called) => !isExecuting(called) || claimed.has(called) || isReplaced(called),
    );
  const countFree = (): number => {
    if (max === Number.POSITIVE_INFINITY) return max;
    let taken = 0;
    for (const run of claimed.keys()) if (!waiting.has(run) && !isReplaced(run)) taken += 1;
    return max - taken;
  };

  return {
    countFree,
    occupy(run) {
      const claim = Symbol(run);
      claimed.set(run, claim);
      return () => {
        // If the lease expired, the same run may have been claimed again.
        if (claimed.get(run) === claim) claimed.delete(run);
      };
    },
    addCall(caller, called) {
      const runs = calls.get(caller) ?? new Set();
      calls.set(caller, runs.add(called));
      return () => {
        if (runs.delete(called) && runs.size === 0) calls.delete(caller);
      };
    },
    hasCalls: (caller) => calls.has(caller),
    async readmit(run) {
      // After the call, the run counts again. If another one was claimed in its place, `countFree` is
      // negative.
      if (!claimed.has(run) || (!waiting.has(run) && countFree() >= 0)) return;
      const admitted = waiting.get(run) ?? Promise.withResolvers<void>();
      waiting.set(run, admitted);
      await admitted.promise;
    },
    removeWaiting: (run) => void waiting.delete(run),
    admitWaiting() {
      for (const [run, { resolve }] of waiting) {
        if (countFree() <= 0) return;
        waiting.delete(run);
        resolve();
      }
    },
  };
}

/** What a run takes apart from its values: measured for a run that waits for a server, without the socket. */
export const RUN_BYTES = 32 * 1024;

/**
 * Counts the memory of the runs that this process executes. A run that waits has no slot, so this budget
 * bounds how many runs wait in memory. A run takes more as it loads and produces values, even if the budget
 * is used up then; only claims respect it.
 */
export interface RunMemory {
  shares: Pick<Shares, "room" | "countFull" | "draft" | "free">;
  /** Counts a run that begins to execute. */
  open(run: string, path: GroupPath): OpenRun;
  /**
   * Stops counting a run while it waits for a run that it has called: callers could otherwise use up the
   * budget, and the called runs could not be claimed. The returned function counts it again.
   */
  pause(run: string): () => void;
  /** The bytes of all runs that count. */
  readonly used: number;
}

interface OpenRun {
  /** Counts a value that the run keeps in memory. */
  add(bytes: number): void;
  close(): void;
}

interface Entry {
  path: GroupPath;
  bytes: number;
  /** The number of calls that the run waits for. */
  calls: number;
  giveBack: () => void;
}

export function createRunMemory(capacity: number): RunMemory {
  const shares = createShares(capacity);
  const entries = new Map<string, Entry>();
  const count = (entry: Entry) => {
    entry.giveBack();
    entry.giveBack = entry.calls > 0 ? () => {} : shares.take(entry.path, entry.bytes);
  };
  return {
    shares,
    open(run, path) {
      // If the lease expired, the run may execute here a second time. Both executions count.
      const entry: Entry = { path, bytes: RUN_BYTES, calls: 0, giveBack() {} };
      count(entry);
      entries.set(run, entry);
      return {
        add(bytes) {
          entry.bytes += bytes;
          count(entry);
        },
        close() {
          entry.giveBack();
          entry.giveBack = () => {};
          entry.bytes = 0;
          if (entries.get(run) === entry) entries.delete(run);
        },
      };
    },
    pause(run) {
      const entry = entries.get(run);
      if (!entry) return () => {};
      entry.calls += 1;
      count(entry);
      return () => {
        entry.calls -= 1;
        if (entries.get(run) === entry) count(entry);
      };
    },
    get used() {
      return capacity - shares.free;
    },
  };
}
