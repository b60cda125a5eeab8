import type { Row, Value } from "../kernel/store/sql.ts";

/** Selects a page of the rows of one table. */
export interface ExportPage {
  tenant: string;
  /** The id of a table; see tenant-tables.ts. */
  table: string;
  /** The key of a row of another table, if `table` is owned by it; see `OwnedTable`. */
  owner?: string;
  /** `next` of the previous page. */
  after?: readonly Value[];
  limit: number;
}

export interface ExportedRows {
  rows: Row[];
  /** Null after the last page. */
  next: Value[] | null;
}

export interface Tenant extends TenantSettings {
  id: string;
  name: string | null;
  created_at: number;
  /** The `seq` of the tenant's newest event; 0 before the first event. */
  seq: number;
  /** Retention may have removed events up to this `seq`. */
  pruned_seq: number;
  /** The number of pending events. */
  pending: number;
  /** The stored bytes of all events; see events/store/append-events.ts. */
  bytes: number;
  /** The stored bytes of all ended runs; see flows/runs/store/end-runs.ts. */
  runs_bytes: number;
  /** Whether the tenant's data is being deleted. */
  deleting: boolean;
}

/** A tenant's own settings. If a field is null, the hub's setting applies. */
export interface TenantSettings {
  quota: number | null;
  /** In milliseconds, capped at the hub's `Retention.processedFor`. */
  processed_for: number | null;
  /** In milliseconds, capped at the hub's `Retention.pendingFor`. */
  pending_for: number | null;
  max_bytes: number | null;
}

export interface Installation {
  id: string;
  tenant: string;
  account: string | null;
  /** GitHub's timestamp of the last event about the installation; 0 if there was none. */
  version: number;
  /** When the account suspended the App; null if it is not suspended. */
  suspended_at: number | null;
  removed_at: number | null;
}

/** The state of an installation, as an event or a lookup at GitHub reports it. */
export interface InstallationUpdate extends Omit<Installation, "removed_at"> {
  /** Null if the event does not change whether the installation is removed. */
  change: "removed" | "restored" | null;
}
