/**
 * The waits of one run. While anything is at work, a wait is a timer. Once nothing is, and the next
 * thing is a while off, the run is parked: it waits in the store, and in nobody's memory.
 */
export interface Naps {
  /** Something is at work until it ends. */
  work<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Whoever is at work rests meanwhile. */
  away<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Rests until then, or until the signal is aborted; null: until somebody wakes the run. */
  until(due: number | null, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface NapsOptions {
  now: () => number;
  parkAfterMs: number;
  /** Nothing is at work, and nothing will be before `due`. */
  park(due: number | null): void;
}

/** The longest that a timer can be set to. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function createNaps({ now, parkAfterMs, park }: NapsOptions): Naps {
  const sleeping = new Set<{ due: number | null; wake(): void }>();
  let working = 0;
  let closed = false;
  let alarm: ReturnType<typeof setTimeout> | undefined;

  const look = () => {
    clearTimeout(alarm);
    if (closed || sleeping.size === 0) return;
    let next: number | null = null;
    for (const { due } of sleeping)
      if (due !== null) next = next === null ? due : Math.min(next, due);
    const wait = next === null ? LONGEST_TIMER_MS : Math.max(0, next - now());
    // One who rests may be about to hand over to another: only who rests for a whole turn does rest.
    if (working === 0 && wait > parkAfterMs) alarm = setTimeout(() => park(next), 0);
    else if (next !== null) alarm = setTimeout(wakeThoseDue, Math.min(LONGEST_TIMER_MS, wait));
  };
  const wakeThoseDue = () => {
    for (const { due, wake } of [...sleeping]) if (due !== null && due <= now()) wake();
    look();
  };
  const begin = () => {
    working += 1;
    look();
  };
  const rest = () => {
    working -= 1;
    look();
  };
  const away: Naps["away"] = async (task) => {
    rest();
    try {
      return await task();
    } finally {
      begin();
    }
  };

  return {
    async work(task) {
      begin();
      try {
        return await task();
      } finally {
        rest();
      }
    },
    away,
    until: (due, signal) =>
      away(
        () =>
          new Promise((resolve) => {
            const nap = {
              due,
              wake() {
                sleeping.delete(nap);
                signal.removeEventListener("abort", nap.wake);
                resolve();
              },
            };
            if (signal.aborted) return resolve();
            signal.addEventListener("abort", nap.wake, { once: true });
            sleeping.add(nap);
            look();
          }),
      ),
    close() {
      closed = true;
      clearTimeout(alarm);
    },
  };
}
