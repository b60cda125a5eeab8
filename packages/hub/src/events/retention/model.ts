import type { RetentionTime } from "./retention-clock.ts";

export interface Retention extends RetentionTime {
  /** How long an event is stored after it was processed, in milliseconds. */
  processedFor: number;
  /** How long an event that is not processed is stored, in milliseconds. */
  pendingFor: number;
  /** The maximum stored bytes of the events and ended runs of one tenant. */
  maxBytes: number;
  /** The maximum number of events and runs that one call removes, so that other writers wait only briefly. */
  limit: number;
}

/** The numbers of removed events, by the reason of their removal, and of removed runs. */
export interface SweepResult {
  /** Processed longer ago than `processedFor`. */
  processed: number;
  /** Pending, and received longer ago than `pendingFor`. */
  expired: number;
  /** The oldest events of a tenant above `maxBytes`. */
  overflow: number;
  /** The oldest ended runs of that tenant. */
  runs: number;
  /** Whether another call may remove more events. */
  hasMore: boolean;
}

/** The numbers of removed events, by the reason of their removal. */
export interface TenantSweep extends Pick<SweepResult, "processed" | "expired"> {
  /** The `after` of the next call; null if all tenants were visited. */
  next: string | null;
}
