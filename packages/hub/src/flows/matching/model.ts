/**
 * Events that were stored before they were compared with all their triggers, because filters were not
 * evaluated in time. Each has a row until the verdicts and runs of these triggers are stored. The row is
 * claimed until `due_at`: if the process ends before that, another one claims the row then.
 */

import type { Trip } from "@signalbox/rules/match/breaker.ts";
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { AppendRequest, AppendResult } from "../../events/model.ts";
import type { StoredTrigger } from "../model.ts";
import type { NewRun } from "../runs/model.ts";

export type TriggerKey = Pick<StoredTrigger, "flow_id" | "node_id">;

/** The triggers that are not compared yet, and the time before which no other process compares them. */
export interface DeferredMatch {
  triggers: readonly TriggerKey[];
  until: number;
}

export interface MatchingRef {
  tenant: string;
  /** The id of the event. */
  id: string;
}

export interface MatchingClaimRef extends MatchingRef {
  /** How often the event was claimed. It is the fencing token of the claim: 0 for the process that stored it. */
  attempts: number;
}

export interface ClaimedMatching extends MatchingClaimRef {
  triggers: readonly TriggerKey[];
}

export interface MatchingClaim {
  now: number;
  /** The end of the claim. */
  until: number;
  limit: number;
  /** Tenants are served round robin: the claim begins with the first tenant after this one. */
  after: string;
  /** How many events of the tenant may be claimed. */
  room(tenant: string): number;
}

/**
 * The plan of deferred triggers; see `PlannedRequest.plan`. With `plan.deferred`, some of them are still not
 * compared.
 */
export interface FinishedMatching extends MatchingClaimRef {
  revision: number;
  plan: EventPlan;
}

/**
 * `stale`: a trigger that matched has changed since the plan was computed; the event must be matched again. `gone`:
 * another process has claimed or matched the event, or it was removed.
 */
export type MatchingResult =
  | { outcome: "matched"; tripped: TrippedTrigger[] }
  | { outcome: "stale" }
  | { outcome: "gone" };

/**
 * Whether an event matched a trigger that listens to the event's source and type. All matches and the nearest
 * misses are stored. A miss has only the conditions that failed.
 */
export interface StoredVerdict {
  flow_id: string;
  node_id: string;
  version: number;
  matched: boolean;
  reasons: Reason[];
  run_id: string | null;
}

export interface PlannedVerdict extends Omit<StoredVerdict, "run_id"> {
  /**
   * Set if a limit of the circuit breaker applies to the event. `chain`: its causation chain is too long,
   * so `matched` is false. `loops`: the trigger's own flow is in the chain. The store then counts how
   * often the trigger fires, and prevents it above `max` times per minute.
   */
  breaker?: Trip & { reason: Reason };
}

/** A trigger that a circuit breaker prevented from firing for one event. */
export interface TrippedTrigger extends Trip {
  event_id: string;
  flow_id: string;
  node_id: string;
  /** Whether this is the first time within a minute. The hub logs only the first time. */
  isFirst: boolean;
}

/** The verdicts and runs of an event. They are stored in the same transaction as the event. */
export interface EventPlan {
  verdicts: PlannedVerdict[];
  /** One run for each verdict that matched, in the same order. */
  runs: NewRun[];
  /** Set if some triggers are compared with the event after it was stored. */
  deferred?: DeferredMatch;
}

/** A request with the verdicts and runs of its events. */
export interface PlannedRequest extends AppendRequest {
  /**
   * They were computed from the tenant's triggers at this `revision`; see `findTriggers`. `events` is empty if
   * no trigger listens to the events.
   */
  plan?: { revision: number; events: readonly EventPlan[] };
}

/** `tripped`: the triggers that a circuit breaker prevented from firing. */
export type PlannedResult = AppendResult & { tripped?: readonly TrippedTrigger[] };
