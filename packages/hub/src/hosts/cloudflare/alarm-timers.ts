/**
 * The timers of a Durable Object. A pending `setTimeout` would keep an idle object in memory, so longer
 * timers run in the object's one alarm. `after` does not set that alarm; its callers also call `wakeAt`.
 * The alarm also starts an object that was evicted or has crashed; its hub then looks up which work is
 * due.
 */
import type { DurableObjectStorage } from "cloudflare:workers";
import type { Timers } from "../../kernel/lib/timers.ts";

export interface AlarmTimers extends Timers {
  /** Sets the alarm to this time, unless it is set to an earlier one. */
  wakeAt(time: number): void;
  /** Called by the object's `alarm()`: runs the timers that are due, and sets the next alarm. */
  onAlarm(): void;
}

/** Shorter timers are more precise than an alarm, and end before the object becomes idle. */
const MAX_TIMEOUT_MS = 2_000;

/** An idle object is stopped, often for days. */
const MAX_CLOCK_GAP_MS = 30 * 24 * 3_600_000;

export async function createAlarmTimers(
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
): Promise<AlarmTimers> {
  const waiting = new Set<{ at: number; work: () => void }>();
  let alarmAt = (await storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
  const wakeAt = (time: number) => {
    if (time >= alarmAt) return;
    alarmAt = time;
    // Cloudflare commits the alarm together with the writes that precede it without an `await` in between.
    void storage.setAlarm(time);
  };
  return {
    now: Date.now,
    monotonic: () => performance.now(),
    maxClockGapMs: MAX_CLOCK_GAP_MS,
    pollMs: Number.POSITIVE_INFINITY,
    defer: (work) => void setTimeout(work, 0),
    after(ms, work) {
      if (ms <= MAX_TIMEOUT_MS) {
        const timer = setTimeout(work, ms);
        return () => clearTimeout(timer);
      }
      const entry = { at: Date.now() + ms, work };
      waiting.add(entry);
      return () => waiting.delete(entry);
    },
    wakeAt,
    onAlarm() {
      alarmAt = Number.POSITIVE_INFINITY;
      const now = Date.now();
      for (const entry of [...waiting].filter(({ at }) => at <= now))
        if (waiting.delete(entry)) entry.work();
      for (const { at } of waiting) wakeAt(at);
    },
  };
}
