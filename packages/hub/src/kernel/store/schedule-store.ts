/** The active schedules of published flows. Each has a row with the time at which it fires next. */
import type { StoredTrigger } from "./flow-store.ts";
import type { NewRun } from "./run-store.ts";

/** When a schedule fires. `next_at` is null if it never fires again. */
export interface NewSchedule {
  cron: string;
  time_zone: string;
  next_at: number | null;
}

export interface StoredSchedule extends NewSchedule {
  flow_id: string;
  node_id: string;
}

export interface DueSchedule {
  trigger: StoredTrigger;
  /** The tick that is due. */
  next_at: number;
}

/**
 * Computes the run and the next tick of a due schedule, inside the transaction that stores them. It is
 * called again if the database retries the transaction, and must not throw.
 */
export type PlanFiring = (due: DueSchedule) => {
  run: NewRun | undefined;
  next_at: number | null;
};

export interface ScheduleStore {
  /**
   * Queues the runs of up to `limit` due schedules, and stores when the schedules fire next, in one
   * transaction: no tick is lost, and none fires twice. Skips the schedules that another replica is
   * firing. Returns the number of schedules that were due.
   */
  fireSchedules(now: number, limit: number, plan: PlanFiring): Promise<number>;
  /** When the next schedule fires; null if there is none. */
  nextScheduleDue(): Promise<number | null>;
  /** The schedules of these flows. */
  listSchedules(tenant: string, flows: readonly string[]): Promise<StoredSchedule[]>;
}
