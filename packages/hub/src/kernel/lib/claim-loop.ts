/**
 * A claim loop claims due items from the store while this process has capacity. It claims when its
 * owner requests it, when an item ends, and when the next item is due. It also polls
 * (`timers.pollMs`), in case the owner has missed a notice of the store.
 */
import type { Timers } from "./timers.ts";

export interface ClaimLoopOptions<Item> {
  timers: Timers;
  /** The number of items that may begin now. */
  freeCapacity(): number;
  claim(limit: number): Promise<readonly Item[]>;
  /** Returns the time when the next item is due; null if there is none. */
  nextDue(): Promise<number | null>;
  /** Starts to work on the item, which occupies capacity until the promise resolves. It never rejects. */
  begin(item: Item): Promise<void>;
  /** Called when a claim is requested. The owner can first use free capacity for other work. */
  onRequested?(): void;
  onError(error: unknown): void;
}

export interface ClaimLoop {
  /** Claims the items that are due now. */
  claimDue(): void;
  /** Schedules a claim at the time `due` or earlier. */
  claimAt(due: number): void;
  /** Stops claiming; resolves when no claim is in progress. */
  close(): Promise<void>;
}

const POLL_MS = 30_000;
const RETRY_AFTER_ERROR_MS = 1_000;

export function createClaimLoop<Item>(options: ClaimLoopOptions<Item>): ClaimLoop {
  const { timers, freeCapacity, claim, nextDue, begin, onRequested, onError } = options;
  let isClosed = false;
  let isRequested = false;
  let claiming: Promise<void> | undefined;
  let cancelTimer = () => {};
  let alarmAt = Number.POSITIVE_INFINITY;

  const claimDue = (): void => {
    if (isClosed) return;
    onRequested?.();
    isRequested = true;
    claiming ??= claimAll().finally(() => {
      claiming = undefined;
      if (isRequested && !isClosed && freeCapacity() > 0) claimDue();
    });
  };
  const cancelAlarm = (): void => {
    cancelTimer();
    alarmAt = Number.POSITIVE_INFINITY;
  };
  const setAlarm = (due: number): void => {
    cancelAlarm();
    if (isClosed) return;
    alarmAt = due;
    const ms = Math.min(timers.pollMs ?? POLL_MS, Math.max(1, due - timers.now()));
    if (ms < Number.POSITIVE_INFINITY) cancelTimer = timers.after(ms, claimDue);
  };
  const claimAll = async (): Promise<void> => {
    cancelAlarm();
    try {
      while (isRequested && !isClosed && freeCapacity() > 0) {
        // Deferred, so that one claim uses the capacity of all items that end together.
        await new Promise<void>((resolve) => timers.defer(resolve));
        isRequested = false;
        const limit = freeCapacity();
        const items = await claim(limit);
        if (isClosed) return; // the owner releases the claimed items after `close`
        if (items.length === limit) isRequested = true; // more items may be due
        for (const item of items) void begin(item).finally(claimDue);
      }
      // Without capacity no alarm is needed: the next item that ends calls `claimDue`.
      if (freeCapacity() > 0) {
        const due = (await nextDue()) ?? Number.POSITIVE_INFINITY;
        setAlarm(Math.min(due, alarmAt)); // `claimAt` may have set an earlier alarm meanwhile
      }
    } catch (error) {
      onError(error);
      setAlarm(timers.now() + RETRY_AFTER_ERROR_MS);
    }
  };

  return {
    claimDue,
    claimAt(due) {
      if (due <= timers.now()) claimDue();
      else if (due < alarmAt) setAlarm(due);
    },
    async close() {
      isClosed = true;
      cancelAlarm();
      await claiming;
    },
  };
}
