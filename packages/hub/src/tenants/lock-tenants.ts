/**
 * A transaction that changes a tenant's log locks the tenant's row until the commit. Rows are locked
 * in the order of their ids, so that two transactions cannot deadlock.
 */
import { type Dialect, inLists, insert, query, type Verb } from "../kernel/store/sql.ts";

export interface TenantHead {
  id: string;
  seq: number;
  pending: number;
  /** How many of the pending events do not count towards the quota. */
  pending_exempt: number;
  quota: number | null;
  deleted_at: number | null;
  /** Increases with each change of the tenant's triggers. */
  triggers_rev: number;
}

const HEAD_FIELDS = "id, seq, pending, pending_exempt, quota, deleted_at, triggers_rev";
const sortedIds = (ids: Iterable<string>) => [...new Set(ids)].sort();

/** Locks the tenants that exist. */
export function* lockTenants(
  dialect: Dialect,
  ids: Iterable<string>,
): Verb<Map<string, TenantHead>> {
  const heads = new Map<string, TenantHead>();
  for (const { list, params } of inLists(sortedIds(ids), dialect, 0)) {
    const select = `SELECT ${HEAD_FIELDS} FROM tenants WHERE id IN ${list} ORDER BY id${dialect.forUpdate}`;
    for (const head of yield* query<TenantHead>(select, params)) heads.set(head.id, head);
  }
  return heads;
}

/** Locks the tenants. Creates those that do not exist, with the creation time `at`. */
export function* lockOrCreateTenants(
  dialect: Dialect,
  ids: Iterable<string>,
  at: number,
): Verb<Map<string, TenantHead>> {
  const wanted = sortedIds(ids);
  const rows = wanted.map((id) => [id, at]);
  if (dialect.forUpdate) {
    // With concurrent writers this must be one statement: a tenant that another transaction creates
    // between two statements would be locked out of order.
    const heads = yield* query<TenantHead>(
      `INSERT INTO tenants (id, created_at) VALUES ${rows.map(() => "(?, ?)").join(", ")} ` +
        `ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING ${HEAD_FIELDS}`,
      rows.flat(),
    );
    return new Map(heads.map((head) => [head.id, head]));
  }
  const heads = yield* lockTenants(dialect, wanted);
  if (heads.size === wanted.length) return heads;
  yield* insert("tenants", ["id", "created_at"], rows, "ON CONFLICT (id) DO NOTHING");
  return yield* lockTenants(dialect, wanted);
}
