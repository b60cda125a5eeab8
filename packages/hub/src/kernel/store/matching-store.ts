/**
 * Events that were stored before they were compared with all their triggers, because filters were not
 * evaluated in time. Each has a row until the verdicts and runs of these triggers are stored. The row is
 * claimed until `due_at`: if the process ends before that, another one claims the row then.
 */
import type { StoredTrigger } from "./flow-store.ts";
import type { EventPlan, TrippedTrigger } from "./run-store.ts";

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
 * The plan of deferred triggers; see `AppendRequest.plan`. With `plan.deferred`, some of them are still not
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

export interface MatchingStore {
  /** `after`: the last tenant that was served. */
  claimMatching(claim: MatchingClaim): Promise<{ claimed: ClaimedMatching[]; after: string }>;
  /** Stores verdicts and runs of events in one transaction, and returns one result per event. */
  finishMatching(finished: readonly FinishedMatching[]): Promise<MatchingResult[]>;
  /** Moves the end of claims that are still held: to now, to release them, or to later, to renew them. */
  moveMatching(claims: readonly MatchingClaimRef[], due: number): Promise<void>;
  /** The triggers that are not compared with the event yet. */
  listDeferred(tenant: string, event: string): Promise<TriggerKey[]>;
  /** When the next event can be claimed; null if there is none. */
  nextMatchingDue(): Promise<number | null>;
  /** The number of events that are not matched yet. The count stops at `max`. */
  countMatching(max: number): Promise<number>;
}
