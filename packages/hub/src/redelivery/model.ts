/**
 * Redeliveries: the webhooks that GitHub failed to deliver, and whose redelivery the hub requests. A sweep
 * reads GitHub's list of delivery attempts, newest first, in pages. One process at a time sweeps: it
 * leases the only row of `github_sweep`. An interrupted sweep continues at the page that it had reached.
 */
import type { RedeliveryState } from "@signalbox/contract/redelivery.ts";

export interface SweepProgress {
  /** The attempts before this time have been read by earlier sweeps. */
  read_until: number;
  /** The next page of the current sweep; null for the first page. */
  cursor: string | null;
  /** The time of the newest attempt that the current sweep has read; null between sweeps. */
  newest_at: number | null;
}

export interface RedeliverySweep extends SweepProgress {
  /** When the next sweep may begin. */
  next_at: number;
  /** When a sweep last read all new attempts. */
  completed_at: number | null;
  /** Why the last sweep ended early. */
  error: string | null;
}

/** GitHub's attempt to deliver a webhook. */
export interface DeliveryAttempt {
  id: string;
  /** The id of the webhook, which all its attempts share. */
  guid: string;
  at: number;
  is_ok: boolean;
  is_redelivery: boolean;
  /** GitHub's description of the result. */
  status: string;
  /** The HTTP status; 0 without a response. */
  status_code: number;
  event: string;
  action: string | null;
  installation: string | null;
}

/** A webhook with a failed attempt, or with a successful redelivery. */
export interface Redelivery {
  guid: string;
  state: RedeliveryState;
  /** The id of the last known attempt. The next three fields are of this attempt too. */
  attempt_id: string;
  attempted_at: number;
  status: string;
  status_code: number;
  event: string;
  action: string | null;
  installation: string | null;
  /** The time of the first known attempt. */
  failed_at: number;
  /** How many times the hub has requested a redelivery. */
  requests: number;
  requested_at: number | null;
  /** When the next request is due; used only in the state `open`. */
  next_at: number;
  /** Why the hub gave up, or why GitHub refused the last request. */
  note: string | null;
}

export type RedeliveryChange = Partial<
  Pick<Redelivery, "state" | "requests" | "requested_at" | "next_at" | "note">
>;

export interface SweepLease {
  by: string;
  now: number;
  until: number;
}

export interface SweepEnd {
  now: number;
  next_at: number;
  /** GitHub's rate limit ends at this time. No sweep begins earlier, not even a requested one. */
  paused_until: number;
  is_complete: boolean;
  error: string | null;
  /** Redeliveries whose first known attempt was before this time are removed. */
  remove_before: number;
}
