/**
 * Claims due runs while this process has capacity for them: below the limit of runs, with free slots, and
 * with memory. A flow whose share of the slots or of the memory is used up is left out.
 */
import { type ClaimLoop, createClaimLoop } from "../../kernel/lib/claim-loop.ts";
import { type Instant, instant } from "../../kernel/lib/elapsed.ts";
import type { GroupPath } from "../../kernel/lib/shares.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import type { ClaimedRun, ClaimShares } from "./model.ts";
import type { RunLimit } from "./run-limit.ts";
import { RUN_BYTES, type RunMemory } from "./run-memory.ts";
import type { WorkSlots } from "./work-slots.ts";

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
