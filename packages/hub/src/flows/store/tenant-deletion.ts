import { type Dialect, execute, inLists, query, type Verb } from "../../kernel/store/sql.ts";
import { write } from "../../kernel/store/verb.ts";
import { deleteTenant } from "../../tenants/tenant-data.ts";
import { removeRuns } from "../runs/store/read-runs.ts";

/**
 * Deletes about `limit` rows of a tenant that is being deleted. Returns whether the deletion is
 * complete. Then only the tenant's id and the last `seq` of its log remain, so that cursors stay valid
 * if the account becomes a tenant again.
 */
export const continueDeletion = write(
  "combined",
  function* (tenant: string, limit: number): Verb<boolean> {
    return yield* deleteTenant(this, tenant, limit, { runs: deleteRuns });
  },
);

/**
 * Deletes up to `limit` runs. Of runs with many steps, it deletes only steps, and returns `limit`, because such
 * runs are left.
 */
function* deleteRuns(dialect: Dialect, tenant: string, limit: number): Verb<number> {
  const runs = yield* query<{ id: string }>(
    `SELECT id FROM runs WHERE id IN (SELECT id FROM runs WHERE tenant_id = ? LIMIT ?) ORDER BY id${dialect.forUpdate}`,
    [tenant, limit],
  );
  const ids = runs.map(({ id }) => id);
  const removed = yield* removeRuns(dialect, ids, limit);
  if (removed.length === ids.length) return ids.length;
  // A worker would repeat the steps that are deleted.
  for (const { list, params } of inLists(ids, dialect, 0))
    yield* execute(
      `UPDATE runs SET status = 'cancelled', due_at = NULL WHERE id IN ${list} AND finished_at IS NULL`,
      params,
    );
  return limit;
}
