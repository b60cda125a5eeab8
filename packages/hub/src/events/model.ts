/** The event log: events, and the requests and results of its verbs. */
import type { Json } from "@signalbox/rules/json.ts";
import type { NewPayload } from "../kernel/store/packs.ts";

/** The fields of a payload that lists show; null if the payload does not have them. */
export interface Summary {
  action: string | null;
  repo: string | null;
  sender: string | null;
  number: number | null;
  title: string | null;
  /** The address of a web page, not of an API. */
  url: string | null;
  /** Set if the event is about a check or a workflow. */
  check_result: CheckResult | null;
}

/** The result of a check or a workflow, with the branch and the commit on which it ran. */
export interface CheckResult {
  /** Null until the check or the workflow has completed. */
  conclusion: string | null;
  head_branch: string | null;
  head_sha: string | null;
}

/** `matching`: the event is not matched yet; see flows/matching/model.ts. */
export type TriggerStatus = "matching" | "pending" | "running" | "succeeded" | "failed";

/** A stored event without its payload. */
export interface EventRow extends Summary {
  id: string;
  tenant: string;
  /** Position in the tenant's log: 1, 2, 3, … in the order of the commits. */
  seq: number;
  source: string;
  /** See `NewEvent.source_id`. */
  source_id: string;
  /** The delivery id; null if the sender has given none. */
  external_id: string | null;
  type: string;
  received_at: number;
  processed: boolean;
  processed_at: number | null;
  note: string | null;
  /** The combined status of the runs that the event started or was gathered into; null if there were none. */
  trigger_status: TriggerStatus | null;
  /** When the latest of these runs started. */
  last_triggered_at: number | null;
  claimed_by: string | null;
  /** The end of the claim. If `claimed_by` is null, the event cannot be claimed before this time. */
  claimed_until: number | null;
  /** How often workers have claimed the event by its id; see `ReleaseOptions.uncounted`. */
  attempts: number;
  /** The size of the body in bytes. */
  size: number;
}

export interface NewEvent extends Summary, NewPayload {
  id: string;
  source: string;
  /**
   * The id of the endpoint that received the event, of the connection that sent it, or of the flow
   * that emitted it. `external_id` is unique per tenant and `source_id`.
   */
  source_id: string;
  external_id: string | null;
  type: string;
  received_at: number;
}

/** The events of one request. Either all events that are not duplicates are stored, or none. */
export interface AppendRequest {
  tenant: string;
  events: NewEvent[];
  /** The parsed payloads of `events`, in the same order, for matching. They are not stored. */
  data?: readonly Json[];
  /** The events are stored even above the quota, and do not count towards it while they are pending. */
  skipQuota?: boolean;
}

export type AppendResult =
  | {
      outcome: "stored";
      events: { id: string; seq: number; duplicate: boolean }[];
    }
  /** All events of the request were stored before. */
  | { outcome: "duplicate"; events: { id: string; seq: number; duplicate: boolean }[] }
  /** `pending`: the events that count towards the quota. */
  | { outcome: "over_quota"; pending: number; quota: number }
  /** The tenant was deleted. */
  | { outcome: "deleted" };

/**
 * The triggers have changed since the plan was computed. Nothing is stored; the caller matches the
 * events again.
 */
export interface StalePlan {
  outcome: "stale";
}

export interface PendingStatus {
  pending_count: number;
  /** When the newest pending event was received. */
  latest_received_at: number | null;
  /** The number of pending events of each type, for the 1,000 most frequent types. */
  types: Record<string, number>;
}

export interface EventQuery {
  tenant: string;
  limit: number;
  /** Returns only events after this `seq`, in the direction of `order`. */
  cursor?: number | undefined;
  /** `newest` first by default. */
  order?: "newest" | "oldest" | undefined;
  pending?: boolean | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
  /** A source, or the id of an endpoint or connection. */
  origin?: string | undefined;
  /** Returns only events that can be claimed at this time. */
  claimableAt?: number | undefined;
}

export interface SearchQuery {
  tenant: string;
  limit: number;
  /** Returns only events before this `seq`. The newest event comes first. */
  cursor?: number | undefined;
  /** Contained in the type, the delivery id or a field of the summary. The case is ignored. */
  text?: string | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  /** See `EventQuery.origin`. */
  origin?: string | undefined;
  /** If null, returns only events without a trigger status: they started no run. */
  status?: TriggerStatus | null | undefined;
  /** Returns only events that were received from `from` to `to`, both inclusive. */
  from?: number | undefined;
  to?: number | undefined;
  processed?: boolean | undefined;
}

/** A claim of up to `limit` pending events. */
export interface Claim {
  tenant: string;
  /** The owner of the claim. */
  by: string;
  limit: number;
  now: number;
  /** The end of the claim. */
  until: number;
  type?: string | undefined;
}

/** A claim of one event by its id; see `Claim`. */
export interface WorkerClaim {
  tenant: string;
  id: string;
  by: string;
  now: number;
  until: number;
}

export interface ReleaseOptions {
  /** The events cannot be claimed before this time. */
  notBefore?: number | undefined;
  /** The claim does not count as an attempt. */
  uncounted?: boolean | undefined;
}

export interface ClaimResult {
  /** False if the operation was not allowed and has changed nothing. */
  applied: boolean;
  /** The event after the operation. */
  event: EventRow;
}

/** The ids of the events, by outcome. */
export interface MarkResult {
  marked: string[];
  /** The events that were processed before the call. */
  alreadyProcessed: string[];
  unknown: string[];
}

/** The ids of the events, by outcome. */
export interface ReopenResult {
  reopened: string[];
  /** The events that were pending before the call. */
  alreadyPending: string[];
  unknown: string[];
}

/** The number of recent events that have the same source, endpoint and type. */
export interface RecentType {
  source: string;
  source_id: string;
  type: string;
  count: number;
  /** When the newest of these events was received. */
  received_at: number;
}

/** The token of a callback, with the trigger subscription that uses it. */
export interface FoundCallbackToken {
  tenant: string;
  connection: string;
  subscription: string;
  /** Null for the current token, and for a new token that the server has not confirmed. */
  expires_at: number | null;
  /** Whether no subscription wants the events any more: the triggers are inactive or removed. */
  isGone: boolean;
}
