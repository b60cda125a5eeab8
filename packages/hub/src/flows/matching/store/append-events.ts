import type { StalePlan } from "../../../events/model.ts";
import { appendToLog } from "../../../events/store/append-events.ts";
import type { Verb } from "../../../kernel/store/sql.ts";
import { write } from "../../../kernel/store/verb.ts";
import { countEnded, type EndedRun } from "../../runs/store/end-runs.ts";
import type { PlannedRequest, PlannedResult, TrippedTrigger } from "../model.ts";
import type { PlannedEvent } from "./breakers.ts";
import { preparePlan, storePlans, verdictBytes } from "./event-plans.ts";
import { type DeferredEvent, deferMatching } from "./matching.ts";

/**
 * Stores the requests of a batch in one transaction, with the verdicts and runs of their events, and returns
 * one result per request. `quota` is the quota of tenants without their own; null means no quota.
 */
export const appendEvents = write(
  "combined",
  function* (
    batch: readonly PlannedRequest[],
    quota: number | null,
  ): Verb<(PlannedResult | StalePlan)[]> {
    const { dialect } = this;
    const planned: PlannedEvent[] = [];
    const deferred: DeferredEvent[] = [];
    const ended: EndedRun[] = [];
    let tripped: TrippedTrigger[] = [];
    const outcomes = yield* appendToLog(dialect, batch, quota, {
      // Without a plan, the events were compared with no trigger.
      revisionOf: ({ plan }) => plan?.revision,
      add({ tenant, events, plan }, index) {
        const event = events[index];
        const eventPlan = plan?.events[index];
        if (!event || !eventPlan) return 0;
        if (eventPlan.deferred) deferred.push({ tenant, id: event.id, ...eventPlan.deferred });
        const prepared = preparePlan(tenant, event, eventPlan);
        planned.push(prepared);
        return verdictBytes(prepared);
      },
      *store() {
        tripped = yield* storePlans(dialect, planned, ended);
        yield* deferMatching(dialect, deferred);
      },
    });
    yield* countEnded(dialect, ended);
    return tripped.length === 0
      ? outcomes
      : outcomes.map((outcome) => addTripped(outcome, tripped));
  },
);

/** Adds each stopped trigger to the result of the request that stored its event. */
function addTripped(
  outcome: PlannedResult | StalePlan,
  tripped: readonly TrippedTrigger[],
): PlannedResult | StalePlan {
  if (outcome.outcome !== "stored") return outcome;
  const ids = new Set(outcome.events.flatMap(({ id, duplicate }) => (duplicate ? [] : [id])));
  const trippedByRequest = tripped.filter(({ event_id }) => ids.has(event_id));
  return trippedByRequest.length === 0 ? outcome : { ...outcome, tripped: trippedByRequest };
}
