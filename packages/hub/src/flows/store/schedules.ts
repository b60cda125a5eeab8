/** The schedules of published flows, and their runs. */

import { columnsOf } from "../../kernel/store/schema.ts";
import {
  type Dialect,
  first,
  inLists,
  insert,
  keyRows,
  notify,
  query,
  type Verb,
} from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type { NewTrigger, StoredTrigger } from "../model.ts";
import type { NewRun } from "../runs/model.ts";
import { queueRuns } from "../runs/store/queue-runs.ts";
import type { PlanFiring, StoredSchedule } from "../schedule-model.ts";
import { flowTables } from "../tables.ts";
import { TRIGGER_FIELDS, type TriggerRow, toTrigger } from "./triggers.ts";

const FIELDS = columnsOf(flowTables.schedules, ["tenant_id"]).join(", ");

export function* removeSchedules(flow: string): Verb<void> {
  yield* query("DELETE FROM schedules WHERE flow_id = ?", [flow]);
}

/**
 * Stores the flow's active schedules. A schedule whose cron expression and time zone have not changed
 * keeps its `next_at`, unless it is null: then it is computed again.
 */
export function* syncSchedules(
  { id, tenant }: { id: string; tenant: string },
  triggers: readonly NewTrigger[],
): Verb<void> {
  const added = new Map(
    triggers.flatMap(({ node_id, active, schedule }) =>
      active && schedule ? [[node_id, schedule]] : [],
    ),
  );
  const stored = yield* query<StoredSchedule>(`SELECT ${FIELDS} FROM schedules WHERE flow_id = ?`, [
    id,
  ]);
  for (const { node_id, cron, time_zone, next_at } of stored) {
    const wanted = added.get(node_id);
    if (next_at !== null && wanted?.cron === cron && wanted.time_zone === time_zone)
      added.delete(node_id);
    else yield* query("DELETE FROM schedules WHERE flow_id = ? AND node_id = ?", [id, node_id]);
  }
  yield* insert(
    "schedules",
    ["tenant_id", ...FIELDS.split(", ")],
    [...added].map(([node_id, { cron, time_zone, next_at }]) => [
      tenant,
      id,
      node_id,
      cron,
      time_zone,
      next_at,
    ]),
  );
  const times = [...added.values()].flatMap(({ next_at }) => (next_at === null ? [] : [next_at]));
  if (times.length > 0) yield* notify({ topic: "schedules", due: Math.min(...times) });
}

/**
 * Queues the runs of up to `limit` due schedules, and stores when the schedules fire next, in one
 * transaction: no tick is lost, and none fires twice. Skips the schedules that another replica is
 * firing. Returns the number of schedules that were due.
 */
export const fireSchedules = write(
  "own",
  function* (now: number, limit: number, plan: PlanFiring): Verb<number> {
    const due = yield* query<StoredSchedule & { next_at: number }>(
      `SELECT ${FIELDS} FROM schedules WHERE next_at <= ? ORDER BY next_at LIMIT ?${this.dialect.skipLocked}`,
      [now, limit],
    );
    const triggers = yield* findTriggers(this.dialect, due);
    const runs: NewRun[] = [];
    for (const { flow_id, node_id, next_at } of due) {
      const trigger = triggers.get(JSON.stringify([flow_id, node_id]));
      // A schedule without a trigger never fires. No verb leaves such a schedule behind.
      const { run, next_at: next } = trigger
        ? plan({ trigger, next_at })
        : { run: undefined, next_at: null };
      if (run) runs.push(run);
      yield* query("UPDATE schedules SET next_at = ? WHERE flow_id = ? AND node_id = ?", [
        next,
        flow_id,
        node_id,
      ]);
    }
    yield* queueRuns.call(this, runs);
    return due.length;
  },
);

function* findTriggers(
  dialect: Dialect,
  schedules: readonly StoredSchedule[],
): Verb<Map<string, StoredTrigger>> {
  const keys = schedules.map(({ flow_id, node_id }) => [flow_id, node_id]);
  const found = new Map<string, StoredTrigger>();
  for (const { values, params } of keyRows(keys, dialect))
    for (const row of yield* query<TriggerRow>(
      `SELECT ${TRIGGER_FIELDS} FROM (VALUES ${values}) k JOIN triggers ` +
        "ON flow_id = k.column1 AND node_id = k.column2",
      params,
    ))
      found.set(JSON.stringify([row.flow_id, row.node_id]), toTrigger(row));
  return found;
}

/** When the next schedule fires; null if there is none. */
export const nextScheduleDue = read("own", function* (): Verb<number | null> {
  const row = yield* first<{ due: number | null }>("SELECT min(next_at) AS due FROM schedules");
  return row?.due ?? null;
});

/** The schedules of these flows. */
export const listSchedules = read(
  "tenant",
  function* (tenant: string, flows: readonly string[]): Verb<StoredSchedule[]> {
    const found: StoredSchedule[] = [];
    for (const { list, params } of inLists([...new Set(flows)], this.dialect, 1))
      found.push(
        ...(yield* query<StoredSchedule>(
          `SELECT ${FIELDS} FROM schedules WHERE flow_id IN ${list} AND tenant_id = ? ORDER BY flow_id, node_id`,
          [...params, tenant],
        )),
      );
    return found;
  },
);
