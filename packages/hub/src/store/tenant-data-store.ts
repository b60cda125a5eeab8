import type { Row, Value } from "./sql.ts";

/** A page of the rows of one table in an export. */
export interface ExportPage {
  tenant: string;
  /** The id of a table in tenant-tables.ts. */
  table: string;
  /** The key of the owner, if rows of `table` belong to rows of another table. */
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
   * Revokes the tenant's tokens, and removes its memberships and its installations. From the commit on, the tenant accepts
   * no events. Also continues the deletion of a tenant of which rows are left. False if the tenant does not exist.
   */
  startDeletion(tenant: string, at: number): Promise<boolean>;
  /**
   * Deletes about `limit` rows of a tenant that is being deleted. Returns whether nothing is left. Then
   * only the tenant's id and the position of its log remain, so that cursors stay valid if the account
   * becomes a tenant again.
   */
  continueDeletion(tenant: string, limit: number): Promise<boolean>;
  /** The tenants that are being deleted. */
  listDeletions(limit: number): Promise<string[]>;
}
