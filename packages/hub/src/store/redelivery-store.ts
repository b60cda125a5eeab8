/**
 * The webhooks that GitHub failed to deliver, and how far the hub has read GitHub's list of attempts.
 * One process at a time reads the list: it holds the lease of the only row of the sweep.
 */

/** GitHub lists its attempts newest first, in pages. A sweep that is interrupted continues at its page. */
export interface SweepProgress {
  /** The attempts before this time have been read. */
  read_until: number;
  /** The next page of a sweep that has not ended; null: the first page. */
  cursor: string | null;
  /** The time of the newest attempt of a sweep that has not ended. */
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
  /** GitHub's description of the result, and the HTTP status; 0 without a response. */
  status: string;
  status_code: number;
  event: string;
  action: string | null;
  installation: string | null;
}

export const REDELIVERY_STATES = ["open", "given_up", "delivered"] as const;
export type RedeliveryState = (typeof REDELIVERY_STATES)[number];

/** A webhook of which at least one attempt has failed, or succeeded only by a redelivery. */
export interface Redelivery {
  guid: string;
  state: RedeliveryState;
  /** The last known attempt. */
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
  /** When the next request is due; only if it is open. */
  next_at: number;
  /** Why it was given up, or GitHub refused a request. */
  note: string | null;
}

export type RedeliveryChange = Partial<
  Pick<Redelivery, "state" | "requests" | "requested_at" | "next_at" | "note">
>;

interface SweepLease {
  by: string;
  now: number;
  until: number;
}

interface SweepEnd {
  now: number;
  next_at: number;
  /** GitHub's rate limit ends at this time. No sweep begins before, not even a requested one. */
  paused_until: number;
  is_complete: boolean;
  error: string | null;
  /** Redeliveries that failed first before this time are removed. */
  remove_before: number;
}

export interface RedeliveryStore {
  /** Makes a sweep due at `at`, unless it is due earlier. */
  requestSweep(at: number): Promise<void>;
  /** Leases the sweep if it is due. `due_at` is the time of the next attempt to lease it. */
  leaseSweep(
    lease: SweepLease,
  ): Promise<{ leased: RedeliverySweep } | { leased: undefined; due_at: number }>;
  /**
   * Records one page of attempts and the progress, and renews the lease. Returns how many webhooks are
   * newly known as failed, and how many of the known ones were delivered; undefined if the lease is lost.
   */
  recordAttempts(
    lease: SweepLease,
    attempts: readonly DeliveryAttempt[],
    progress: SweepProgress,
  ): Promise<{ failed: number; delivered: number } | undefined>;
  /** The open ones that are due, oldest first. */
  dueRedeliveries(now: number, limit: number): Promise<Redelivery[]>;
  /** Changes an open one, and renews the lease. False if the lease is lost. */
  changeRedelivery(lease: SweepLease, guid: string, change: RedeliveryChange): Promise<boolean>;
  /**
   * Begins again: the webhook is open and due at `at`, without a request so far, and a sweep is due too.
   * Undefined if it was delivered, is unknown, or failed first at `failed_after` or before.
   */
  retryRedelivery(guid: string, at: number, failed_after: number): Promise<Redelivery | undefined>;
  /** Ends the lease. False if it is lost. */
  finishSweep(by: string, end: SweepEnd): Promise<boolean>;
  /** Undefined before the first sweep. */
  getSweep(): Promise<RedeliverySweep | undefined>;
  /** Newest first. */
  listRedeliveries(state: RedeliveryState, limit: number): Promise<Redelivery[]>;
  /** Higher counts are returned as `max`. */
  countRedeliveries(max: number): Promise<Record<RedeliveryState, number>>;
}
