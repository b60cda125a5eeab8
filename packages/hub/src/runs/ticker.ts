/**
 * Fires due schedules: at the time of the next tick, and when a notice reports an earlier one. Every
 * replica has a ticker; the store lets each tick fire once. It also polls every 30 s, in case a notice
 * was lost.
 */
import type { TriggerSchedule } from "@signalbox/rules/flows/node-type.ts";
import { planFiring, scheduleInput } from "@signalbox/rules/flows/schedule.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Timers } from "../lib/timers.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { NewRun } from "../store/run-store.ts";
import type { PlanFiring } from "../store/schedule-store.ts";
import type { Store } from "../store/store.ts";
import { limitOf } from "./lanes.ts";

export interface TickerOptions {
  store: Pick<Store, "fireSchedules" | "nextScheduleDue" | "subscribe">;
  timers: Timers;
  newId: () => string;
  onError(error: unknown): void;
}

export interface Ticker {
  /** Stops firing; resolves when no transaction is in progress. */
  close(): Promise<void>;
}

const POLL_MS = 30_000;
const RETRY_MS = 1_000;
/** The number of schedules that fire in one transaction. */
const BATCH = 50;

export function createTicker(options: TickerOptions): Ticker {
  const { store, timers, onError } = options;
  const plan = createPlan(options);
  let closed = false;
  let requested = false;
  let firing: Promise<void> | undefined;
  let cancelTimer = () => {};
  let alarmAt = Number.POSITIVE_INFINITY;

  const cancelAlarm = (): void => {
    cancelTimer();
    alarmAt = Number.POSITIVE_INFINITY;
  };
  const setAlarm = (due: number): void => {
    cancelAlarm();
    if (closed) return;
    alarmAt = due;
    cancelTimer = timers.after(Math.min(POLL_MS, Math.max(1, due - timers.now())), fireDue);
  };
  const fireDue = (): void => {
    if (closed) return;
    requested = true;
    firing ??= fireAll().finally(() => {
      firing = undefined;
      if (requested) fireDue();
    });
  };
  const fireAll = async (): Promise<void> => {
    cancelAlarm();
    try {
      while (!closed) {
        requested = false;
        const due = (await store.nextScheduleDue()) ?? Number.POSITIVE_INFINITY;
        const now = timers.now();
        if (due > now) return setAlarm(Math.min(due, alarmAt)); // a notice may have set an earlier alarm
        const fired = await store.fireSchedules(now, BATCH, plan(now));
        // Another replica is firing the schedules that are due.
        if (fired === 0) return setAlarm(now + RETRY_MS);
      }
    } catch (error) {
      onError(error);
      setAlarm(timers.now() + RETRY_MS);
    }
  };
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "gap") fireDue();
    else if (notice.topic !== "schedules") return;
    else if (notice.due <= timers.now()) fireDue();
    else if (notice.due < alarmAt) setAlarm(notice.due);
  });
  fireDue();

  return {
    async close() {
      closed = true;
      unsubscribe();
      cancelAlarm();
      await firing;
    },
  };
}

const createPlan =
  ({ newId, onError }: TickerOptions) =>
  (now: number): PlanFiring =>
  ({ trigger, next_at }) => {
    try {
      const schedule = trigger.config as JsonObject & TriggerSchedule;
      const firing = planFiring(schedule, next_at, now);
      if (!firing) return { run: undefined, next_at };
      const { run, nextAt } = firing;
      return { run: run && runFor(trigger, run, now, newId()), next_at: nextAt };
    } catch (error) {
      // It would fail again, and must not prevent the other schedules from firing.
      const { flow_id, node_id } = trigger;
      const message = `The schedule ${node_id} of the flow ${flow_id} is stopped, because its next time is unknown. Publish the flow again.`;
      onError(new Error(message, { cause: error }));
      return { run: undefined, next_at: null };
    }
  };

function runFor(
  trigger: StoredTrigger,
  firing: { tick: number; missed: number },
  now: number,
  id: string,
): NewRun {
  const { tenant, app, flow_id, version, node_id, config } = trigger;
  const input = scheduleInput(String(config.timeZone), firing, now);
  return {
    id,
    tenant,
    app,
    flow_id,
    version,
    trigger_node: node_id,
    cause: "schedule",
    key: `schedule:${flow_id}:${node_id}:${input.scheduled_at}`,
    input,
    at: now,
    due_at: now,
    depth: 0,
    limit: limitOf(trigger, input),
  };
}
