import type { Row, Value } from "./sql.ts";

/** Selects a page of the rows of one table. */
export interface ExportPage {
  tenant: string;
  /** The id of a table in tenant-tables.ts. */
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

/** The export and the deletion of all data of a tenant; see tenant-tables.ts. */
export interface TenantDataStore {
  exportRows(page: ExportPage): Promise<ExportedRows>;
  /**
   * Revokes the tenant's tokens, deletes its memberships, and marks its installations as removed.
   * From the commit on, the tenant accepts no events. If a deleted tenant has rows again, such as
   * those of a late webhook, the deletion starts again. False if the tenant does not exist.
   */
  startDeletion(tenant: string, at: number): Promise<boolean>;
  /**
   * Deletes about `limit` rows of a tenant that is being deleted. Returns whether the deletion is
   * complete. Then only the tenant's id and the last `seq` of its log remain, so that cursors stay valid
   * if the account becomes a tenant again.
   */
  continueDeletion(tenant: string, limit: number): Promise<boolean>;
  /** The tenants that are being deleted. */
  listDeletions(limit: number): Promise<string[]>;
}
