/**
 * The slots of runs that work: that use the CPU of this process, or write to the store. A run that waits
 * has no slot. So a slot is held for milliseconds, and a few suffice to use the CPU; more would only make
 * each run take longer.
 */
import { createFairSlots, type FairSlots } from "../../kernel/lib/fair-slots.ts";
import type { Timers } from "../../kernel/lib/timers.ts";

export interface WorkSlots extends FairSlots {
  /** Calls `release` soon: the releases of one turn of the event loop are one task. */
  releaseLater(release: () => void): void;
}

export interface WorkSlotsOptions {
  timers: Pick<Timers, "defer">;
  onFree(): void;
}

export const WORK_SLOTS = 64;

export function createWorkSlots({ timers, onFree }: WorkSlotsOptions): WorkSlots {
  const slots = createFairSlots({ capacity: WORK_SLOTS, onFree });
  let pending: (() => void)[] = [];
  const releasePending = () => {
    const releases = pending;
    pending = [];
    for (const release of releases) release();
  };
  return {
    ...slots,
    get waiting() {
      return slots.waiting;
    },
    releaseLater(release) {
      if (pending.push(release) === 1) timers.defer(releasePending);
    },
  };
}
