/** The export and the deletion of all data of a tenant. */

import type { Table } from "../kernel/store/schema.ts";
import {
  type Dialect,
  execute,
  first,
  inLists,
  notify,
  query,
  type Value,
  type Verb,
} from "../kernel/store/sql.ts";
import { read, type VerbContext, write } from "../kernel/store/verb.ts";
import { lockTenants } from "./lock-tenants.ts";
import type { ExportedRows, ExportPage } from "./model.ts";
import {
  deletedTables,
  exportedColumns,
  type OwnedTable,
  type TenantTable,
  tenantTables,
} from "./tenant-tables.ts";

export const exportRows = read("combined", function* (page: ExportPage): Verb<ExportedRows> {
  const { tenant, owner, after, limit } = page;
  const part = findTable(this.tables, page.table, owner !== undefined);
  const { table, key } = part;
  const [where, params] =
    "by" in part ? [`${part.by} = ?`, [owner ?? ""]] : [part.where, part.params(tenant)];
  const columns = [...new Set([...exportedColumns(table), ...key])];
  const afterCondition = after ? `AND (${key}) > (${key.map(() => "?")})` : "";
  const rows = yield* query<Record<string, Value>>(
    `SELECT ${columns} FROM ${table.name} WHERE ${where} ${afterCondition} ORDER BY ${key} LIMIT ?`,
    [...params, ...(after ?? []), limit],
  );
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { rows, next: last ? key.map((column) => last[column] as Value) : null };
});

/** `name`: the id of a tenant table, or the name of an owned table. */
function findTable(
  tables: readonly Table[],
  name: string,
  isOwned: boolean,
): TenantTable | OwnedTable {
  const parts = tenantTables(tables);
  const found: TenantTable | OwnedTable | undefined = isOwned
    ? parts.flatMap(({ owned }) => owned).find(({ table }) => table.name === name)
    : parts.find(({ id }) => id === name);
  if (!found) throw new Error(`There is no table ${name} in an export.`);
  return found;
}

/**
 * Revokes the tenant's tokens, deletes its memberships, and marks its installations as removed.
 * From the commit on, the tenant accepts no events. If a deleted tenant has rows again, such as
 * those of a late webhook, the deletion starts again. False if the tenant does not exist.
 */
export const startDeletion = write(
  "combined",
  function* (tenant: string, at: number): Verb<boolean> {
    const { dialect } = this;
    yield* lockTenants(dialect, [tenant]);
    const condition = (yield* hasRows(this.tables, tenant))
      ? ""
      : "AND (deleted_at IS NULL OR deleting = 1)";
    const started = yield* query(
      "UPDATE tenants SET deleting = 1, deleted_at = coalesce(deleted_at, ?) " +
        `WHERE id = ? ${condition} RETURNING id`,
      [at, tenant],
    );
    if (started.length === 0) return false;
    yield* execute("DELETE FROM memberships WHERE tenant_id = ?", [tenant]);
    yield* removeFromTokens(dialect, tenant);
    yield* removeFromGrants(dialect, tenant);
    yield* execute(
      "UPDATE tokens SET revoked_at = ? WHERE revoked_at IS NULL " +
        "AND id IN (SELECT token_id FROM token_tenants WHERE tenant_id = ?)",
      [at, tenant],
    );
    yield* execute(
      "UPDATE installations SET removed_at = coalesce(removed_at, ?), account = NULL WHERE tenant_id = ?",
      [at, tenant],
    );
    yield* notify({ topic: "tenant_deleted", tenant });
    return true;
  },
);

/** Whether rows of the tenant exist. A deleted tenant has rows if some were stored after its deletion. */
function* hasRows(tables: readonly Table[], tenant: string): Verb<boolean> {
  for (const { table, where, params } of deletedTables(tables)) {
    const select = `SELECT 1 AS one FROM ${table.name} WHERE ${where} LIMIT 1`;
    if (yield* first(select, params(tenant))) return true;
  }
  return false;
}

/** Removes the tenant from tokens of several tenants, which stay valid for the others. */
function* removeFromTokens({ forUpdate }: Dialect, tenant: string): Verb<void> {
  const shared = yield* query<{ id: string; tenants: string }>(
    "SELECT id, tenants FROM tokens WHERE tenants <> ? " +
      `AND id IN (SELECT token_id FROM token_tenants WHERE tenant_id = ?) ORDER BY id${forUpdate}`,
    [JSON.stringify([tenant]), tenant],
  );
  for (const { id, tenants } of shared) {
    const others = omitTenant(tenants, tenant);
    if (others === "[]") continue;
    yield* execute("UPDATE tokens SET tenants = ? WHERE id = ?", [others, id]);
    yield* execute("DELETE FROM token_tenants WHERE tenant_id = ? AND token_id = ?", [tenant, id]);
  }
}

/** Removes the tenant from grants of several tenants, which would issue new tokens for it. */
function* removeFromGrants({ indexOf, forUpdate }: Dialect, tenant: string): Verb<void> {
  const shared = yield* query<{ id: string; tenants: string }>(
    `SELECT id, tenants FROM oauth_grants WHERE ${indexOf}(tenants, ?) > 0 AND tenants <> ? ORDER BY id${forUpdate}`,
    [JSON.stringify(tenant), JSON.stringify([tenant])],
  );
  for (const { id, tenants } of shared)
    yield* execute("UPDATE oauth_grants SET tenants = ? WHERE id = ?", [
      omitTenant(tenants, tenant),
      id,
    ]);
}

const omitTenant = (tenants: string, tenant: string): string =>
  JSON.stringify((JSON.parse(tenants) as string[]).filter((id) => id !== tenant));

/**
 * The maximum number of rows of one table with owned tables that a call deletes: each can own many
 * rows. A run can own thousands; see `deleteRuns`.
 */
const MAX_OWNERS = 100;

/** Deletes up to `limit` rows of a table, and returns their number. */
export type DeleteRows = (dialect: Dialect, tenant: string, limit: number) => Verb<number>;

/** See `continueDeletion`. `ownDeletes`: the tables whose rows are not just deleted with the rows that they own. */
export function* deleteTenant(
  { dialect, tables }: Pick<VerbContext, "dialect" | "tables">,
  tenant: string,
  limit: number,
  ownDeletes: Readonly<Record<string, DeleteRows>>,
): Verb<boolean> {
  yield* lockTenants(dialect, [tenant]);
  const head = yield* first("SELECT id FROM tenants WHERE id = ? AND deleting = 1", [tenant]);
  if (!head) return true;
  let left = limit;
  for (const part of deletedTables(tables)) {
    const max = part.owned.length > 0 ? Math.min(left, MAX_OWNERS) : left;
    const deleteOwn = ownDeletes[part.table.name];
    const deleted = deleteOwn
      ? yield* deleteOwn(dialect, tenant, max)
      : yield* deleteRows(dialect, part, tenant, max);
    if (deleted === max) return false;
    left -= deleted;
  }
  yield* finishDeletion(tenant);
  return true;
}

function* deleteRows(
  dialect: Dialect,
  { table: { name, key }, where, params, owned }: TenantTable,
  tenant: string,
  limit: number,
): Verb<number> {
  const deleted = yield* query<{ id: string }>(
    `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE ${where} LIMIT ?)` +
      ` RETURNING ${owned.length > 0 ? "id" : key[0]}`,
    [...params(tenant), limit],
  );
  const ids = owned.length > 0 ? deleted.map(({ id }) => id) : [];
  for (const { table, by } of owned)
    for (const { list, params: listed } of inLists(ids, dialect, 0))
      yield* execute(`DELETE FROM ${table.name} WHERE ${by} IN ${list}`, listed);
  return deleted.length;
}

function* finishDeletion(tenant: string): Verb<void> {
  yield* execute(
    "DELETE FROM callback_verifications WHERE NOT EXISTS (SELECT 1 FROM subscriptions " +
      "WHERE principal = callback_verifications.principal AND url = callback_verifications.url)",
  );
  // The account may have installed the App again during the deletion.
  const installed = yield* first(
    "SELECT id FROM installations WHERE tenant_id = ? AND removed_at IS NULL",
    [tenant],
  );
  yield* execute(
    "UPDATE tenants SET deleting = 0, pending = 0, pending_exempt = 0, bytes = 0, pruned_seq = seq, " +
      "triggers_rev = triggers_rev + 1, quota = NULL, processed_for = NULL, pending_for = NULL, max_bytes = NULL" +
      `${installed ? ", deleted_at = NULL" : ", name = NULL, name_version = 0"} WHERE id = ?`,
    [tenant],
  );
}

/** The tenants that are being deleted. */
export const listDeletions = read("own", function* (limit: number): Verb<string[]> {
  const rows = yield* query<{ id: string }>(
    "SELECT id FROM tenants WHERE deleting = 1 ORDER BY id LIMIT ?",
    [limit],
  );
  return rows.map(({ id }) => id);
});
