/** The active schedules of published flows. Each has a row with the time at which it fires next. */
import type { NewSchedule, StoredTrigger } from "./model.ts";
import type { NewRun } from "./runs/model.ts";

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
