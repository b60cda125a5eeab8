/** Stores the verdicts of the triggers on new events, and the runs that the events start. */

import { encodeReasons, type Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { NewEvent } from "../../../events/model.ts";
import { PER_FULL_BYTE } from "../../../events/store/append-events.ts";
import { columnsOf } from "../../../kernel/store/schema.ts";
import { type Dialect, insert, type Value, type Verb } from "../../../kernel/store/sql.ts";
import type { LaneLimit } from "../../runs/model.ts";
import type { EndedRun } from "../../runs/store/end-runs.ts";
import { addRuns } from "../../runs/store/queue-runs.ts";
import { markEventsPending, type updateEventStatus } from "../../runs/store/run-events.ts";
import { flowTables } from "../../tables.ts";
import type { EventPlan, TrippedTrigger } from "../model.ts";
import { matchingTables } from "../tables.ts";
import { loadLoopGuard, type PlannedEvent } from "./breakers.ts";

const VERDICT_COLUMNS = columnsOf(matchingTables.verdicts);
const FIRING_COLUMNS = columnsOf(flowTables.trigger_firings);
/** Updates a row at most once a second, so that a burst of events does not write it each time. */
const LATER_FIRING =
  "ON CONFLICT (flow_id, node_id) DO UPDATE SET fired_at = excluded.fired_at " +
  "WHERE trigger_firings.fired_at <= excluded.fired_at - 1000";

/**
 * Whether a connection sent the event: then its source is the connection's id, from
 * connections/connection-id.ts. The source of a webhook endpoint is a kind, such as `github`.
 */
const isOfConnection = ({ source, source_id }: Pick<NewEvent, "source" | "source_id">): boolean =>
  source === source_id && /-[a-z2-9]{6}$/.test(source);

/** Prepares an event for `storePlans`. */
export function preparePlan(
  tenant: string,
  event: Pick<NewEvent, "id" | "received_at" | "source" | "source_id">,
  plan: EventPlan,
): PlannedEvent {
  const { id: event_id, received_at: at } = event;
  const reasons = plan.verdicts.map((verdict) => encodeReasons(verdict.reasons));
  return { ...plan, tenant, event_id, at, isOfConnection: isOfConnection(event), reasons };
}

/** Returns the triggers that were stopped by a circuit breaker. Adds the runs that were replaced to `ended`. */
export function* storePlans(
  dialect: Dialect,
  planned: readonly PlannedEvent[],
  ended: EndedRun[],
  updateEvents: typeof updateEventStatus = markEventsPending,
): Verb<TrippedTrigger[]> {
  // No trigger listens to most events.
  if (planned.length === 0) return [];
  const guard = yield* loadLoopGuard(dialect, planned);
  const runs = planned.flatMap((event) => event.runs);
  // An input may be gathered into an existing run; the event is then linked to that run.
  const ids =
    runs.length === 0 ? [] : yield* addRuns(dialect, runs, { ended, updateEvents, guard });
  let nextRun = 0;
  const verdicts: Value[][] = [];
  const firings = new Map<string, Value[]>();
  for (const event of planned) {
    for (const [index, planned] of event.verdicts.entries()) {
      const run = planned.matched ? runs[nextRun] : undefined;
      const id = planned.matched ? (ids[nextRun++] ?? null) : null;
      const verdict = guard.finalVerdict(event, planned, run);
      const { flow_id, node_id, version, matched } = verdict;
      const reachedLimit = matched && id === null ? run?.limit : undefined;
      const reasons = reachedLimit
        ? encodeReasons([...verdict.reasons, skipReason(reachedLimit)])
        : verdict === planned
          ? (event.reasons[index] as string)
          : encodeReasons(verdict.reasons);
      if (event.isOfConnection && id !== null)
        firings.set(JSON.stringify([flow_id, node_id]), [flow_id, node_id, event.at]);
      const row = [matched ? 1 : 0, reasons, id];
      verdicts.push([event.tenant, event.event_id, flow_id, node_id, version, ...row]);
    }
  }
  yield* insert("verdicts", VERDICT_COLUMNS, verdicts);
  yield* insert("trigger_firings", FIRING_COLUMNS, [...firings.values()], LATER_FIRING);
  return yield* guard.save();
}

const skipReason = ({ max }: LaneLimit): Reason => ({
  on: "concurrency",
  holds: false,
  message: `skipped: its concurrency limit of ${max} ${max === 1 ? "run" : "runs"} was reached`,
});

/** The numbers of a verdict, and the headers of its row and of its index entries. */
const VERDICT_BYTES = 40;

export function verdictBytes({ tenant, event_id, verdicts, reasons }: PlannedEvent): number {
  let bytes = 0;
  for (const [index, { flow_id, node_id, matched }] of verdicts.entries()) {
    const keys = tenant.length + event_id.length + flow_id.length + node_id.length;
    // The id of the run is as long as that of the event.
    bytes += VERDICT_BYTES + keys + (matched ? event_id.length : 0);
    bytes += reasons[index]?.length ?? 0;
  }
  return Math.round(PER_FULL_BYTE * bytes);
}
