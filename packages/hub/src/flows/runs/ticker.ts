/**
 * Fires due schedules: at the time of the next tick, and when a notice reports an earlier one. Every
 * replica has a ticker, and the store ensures that each tick fires once.
 */
import type { TriggerSchedule } from "@signalbox/rules/flows/node-type.ts";
import { planFiring, scheduleInput } from "@signalbox/rules/flows/schedule.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { laneKey } from "@signalbox/rules/match/lane-key.ts";
import { createClaimLoop } from "../../kernel/lib/claim-loop.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import type { StoredTrigger } from "../model.ts";
import type { PlanFiring } from "../schedule-model.ts";
import { limitOf } from "./lanes.ts";
import type { NewRun } from "./model.ts";

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

/** The maximum number of schedules that fire in one transaction. */
const BATCH_SIZE = 50;
const RETRY_MS = 1_000;

export function createTicker(options: TickerOptions): Ticker {
  const { store, timers, onError } = options;
  const plan = createFiringPlan(options);
  const loop = createClaimLoop<undefined>({
    timers,
    freeCapacity: () => BATCH_SIZE,
    async claim(limit) {
      const now = timers.now();
      const count = await store.fireSchedules(now, limit, plan(now));
      return new Array<undefined>(count).fill(undefined);
    },
    async nextDue() {
      const due = await store.nextScheduleDue();
      const now = timers.now();
      // A schedule that is due but was not claimed here is being fired by another replica.
      return due !== null && due <= now ? now + RETRY_MS : due;
    },
    begin: async () => {}, // `fireSchedules` has already queued the runs
    onError,
  });
  const unsubscribe = store.subscribe(
    (notice) => {
      if (notice.topic === "gap") loop.claimDue();
      else if (notice.topic === "schedules") loop.claimAt(notice.due);
    },
    ["gap", "schedules"],
  );
  loop.claimDue();

  return {
    close() {
      unsubscribe();
      return loop.close();
    },
  };
}

const createFiringPlan =
  ({ newId, onError }: TickerOptions) =>
  (now: number): PlanFiring =>
  ({ trigger, next_at }) => {
    try {
      const schedule = trigger.config as JsonObject & TriggerSchedule;
      const firing = planFiring(schedule, next_at, now);
      if (!firing) return { run: undefined, next_at };
      const { run, nextAt } = firing;
      return { run: run && createRun(trigger, run, now, newId()), next_at: nextAt };
    } catch (error) {
      // The schedule would fail again, and must not prevent the other schedules from firing.
      const { flow_id, node_id } = trigger;
      const message = `The schedule ${node_id} of the flow ${flow_id} is stopped, because its next time is unknown. Publish the flow again.`;
      onError(new Error(message, { cause: error }));
      return { run: undefined, next_at: null };
    }
  };

function createRun(
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
    limit: limitOf(trigger, (key) => laneKey(input, key)),
  };
}
