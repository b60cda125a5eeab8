/** The trigger status of an event: the combined status of the runs that it started or was gathered into. */

import { notifyChanged } from "../../../events/store/claim-events.ts";
import {
  type Dialect,
  execute,
  inLists,
  insert,
  query,
  type Value,
  type Verb,
} from "../../../kernel/store/sql.ts";

/** Records which event started each run. */
export function* linkEvents(
  runs: readonly { id: string; tenant: string; event_id?: string | undefined }[],
): Verb<void> {
  yield* insert(
    "run_events",
    ["event_id", "run_id", "tenant_id"],
    runs.flatMap(({ id, tenant, event_id }): Value[][] =>
      event_id === undefined ? [] : [[event_id, id, tenant]],
    ),
    "ON CONFLICT (event_id, run_id) DO NOTHING",
  );
}

const RUNS_OF_EVENT =
  "FROM run_events l JOIN runs r ON r.id = l.run_id WHERE l.event_id = events.id AND l.tenant_id = events.tenant_id";

// Runs that retention has removed do not count. If no run is left, the event keeps its status.
const COMBINED_STATUS =
  "CASE WHEN count(*) = 0 THEN NULL " +
  "WHEN sum(CASE WHEN r.status IN ('queued', 'held') THEN 1 ELSE 0 END) = count(*) THEN 'pending' " +
  "WHEN count(r.finished_at) < count(*) THEN 'running' " +
  "WHEN sum(CASE WHEN r.status = 'succeeded' THEN 1 ELSE 0 END) = count(*) THEN 'succeeded' " +
  "ELSE 'failed' END";

/** A transaction that has locked an event must not wait for other locks except those of `run_usage`. */
export function* updateEventStatus(
  dialect: Dialect,
  runs: readonly { id: string; event_id?: string | null | undefined; gathered_count?: number }[],
): Verb<void> {
  const ids = runs.flatMap(({ id, event_id, gathered_count = 0 }) =>
    event_id != null || gathered_count > 0 ? [id] : [],
  );
  const events = new Set<string>();
  for (const { list, params } of inLists(ids, dialect, 0))
    for (const { event_id } of yield* query<{ event_id: string }>(
      `SELECT event_id FROM run_events WHERE run_id IN ${list}`,
      params,
    ))
      events.add(event_id);
  for (const { list, params } of inLists([...events].sort(), dialect, 0)) {
    // Locked before the runs are counted: if two runs end concurrently, the second one counts the first.
    if (dialect.forUpdate)
      yield* execute(
        `SELECT id FROM events WHERE id IN ${list} ORDER BY id${dialect.forUpdate}`,
        params,
      );
    const updated = yield* query<{ tenant_id: string; id: string }>(
      `UPDATE events SET trigger_status = coalesce((SELECT ${COMBINED_STATUS} ${RUNS_OF_EVENT}), trigger_status), ` +
        `last_triggered_at = coalesce((SELECT max(r.started_at) ${RUNS_OF_EVENT}), last_triggered_at) ` +
        `WHERE id IN ${list} RETURNING tenant_id, id`,
      params,
    );
    for (const [tenant, changed] of Map.groupBy(updated, ({ tenant_id }) => tenant_id))
      yield* notifyChanged(
        tenant,
        changed.map(({ id }) => id),
      );
  }
}

/** Like `updateEventStatus`, for new events: their runs have not started, so no count is needed. */
export function* markEventsPending(
  dialect: Dialect,
  runs: readonly { event_id?: string | null | undefined }[],
): Verb<void> {
  const events = new Set(runs.flatMap(({ event_id }) => (event_id == null ? [] : [event_id])));
  for (const { list, params } of inLists([...events].sort(), dialect, 0))
    yield* execute(`UPDATE events SET trigger_status = 'pending' WHERE id IN ${list}`, params);
}
