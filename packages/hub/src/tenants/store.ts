/** Tenants and GitHub installations. */

import { execute, first, query, type Verb } from "../kernel/store/sql.ts";
import { read, write } from "../kernel/store/verb.ts";
import type { Installation, InstallationUpdate, Tenant, TenantSettings } from "./model.ts";

export * from "./tables.ts";
export * from "./tenant-data.ts";

const TENANT_FIELDS =
  "id, name, created_at, seq, pruned_seq, pending, bytes, deleting, quota, processed_for, pending_for, max_bytes, " +
  "coalesce((SELECT bytes FROM run_usage WHERE tenant_id = tenants.id), 0) AS runs_bytes";
/** A deleted tenant exists only as an id; see `continueDeletion`. */
const EXISTS = "(deleted_at IS NULL OR deleting = 1)";

type TenantRow = Omit<Tenant, "deleting"> & { deleting: number };
const toTenant = (row: TenantRow): Tenant => ({ ...row, deleting: row.deleting === 1 });

const SETTABLE = ["name", "quota", "processed_for", "pending_for", "max_bytes"] as const;

/** Creates the tenant, or changes those fields of an existing tenant that are set. */
export const putTenant = write(
  "combined",
  function* (
    tenant: { id: string; name?: string | null; at: number } & Partial<TenantSettings>,
  ): Verb<Tenant> {
    yield* query("INSERT INTO tenants (id, created_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", [
      tenant.id,
      tenant.at,
    ]);
    yield* query(
      "UPDATE tenants SET deleted_at = NULL, created_at = ? WHERE id = ? AND deleted_at IS NOT NULL AND deleting = 0",
      [tenant.at, tenant.id],
    );
    for (const field of SETTABLE) {
      const value = tenant[field];
      if (value !== undefined)
        yield* query(`UPDATE tenants SET ${field} = ? WHERE id = ?`, [value, tenant.id]);
    }
    return (yield* getTenant.call(this, tenant.id)) as Tenant;
  },
);

export const getTenant = read("combined", function* (id: string): Verb<Tenant | undefined> {
  const row = yield* first<TenantRow>(
    `SELECT ${TENANT_FIELDS} FROM tenants WHERE id = ? AND ${EXISTS}`,
    [id],
  );
  return row && toTenant(row);
});

export const listTenants = read("combined", function* (after: string, limit: number) {
  const rows = yield* query<TenantRow>(
    `SELECT ${TENANT_FIELDS} FROM tenants WHERE id > ? AND ${EXISTS} ORDER BY id LIMIT ?`,
    [after, limit],
  );
  return rows.map(toTenant);
});

/** The stored bytes of all tenants in this database. */
export const sumBytes = read("own", function* (): Verb<{ events: number; runs: number }> {
  const row = yield* first<Record<"events" | "runs", number | string | null>>(
    "SELECT (SELECT sum(bytes) FROM tenants) AS events, (SELECT sum(bytes) FROM run_usage) AS runs",
  );
  return { events: Number(row?.events ?? 0), runs: Number(row?.runs ?? 0) };
});

/**
 * A newer version replaces the stored one; an older or equal version changes nothing. There are three
 * exceptions: a removal, and the end of a suspension, also replace an equal version (GitHub does not
 * always count them as updates), and after a removal only a `restored` update is accepted. Returns the
 * stored installation.
 */
export const putInstallation = write(
  "combined",
  function* (update: InstallationUpdate, at: number): Verb<Installation> {
    const { id, tenant, account, version, change, suspended_at } = update;
    const changed = yield* query(
      "INSERT INTO installations (id, tenant_id, account, version, updated_at, suspended_at, removed_at) " +
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET " +
        "tenant_id = excluded.tenant_id, account = excluded.account, version = excluded.version, " +
        "updated_at = excluded.updated_at, suspended_at = excluded.suspended_at, removed_at = excluded.removed_at " +
        `WHERE ${MAY_REPLACE[change ?? "none"]} RETURNING id`,
      [id, tenant, account, version, at, suspended_at, change === "removed" ? at : null],
    );
    if (changed.length > 0) {
      yield* putTenant.call(this, { id: tenant, at });
      if (account !== null) yield* renameTenant.call(this, tenant, account, version);
    }
    return (yield* findInstallation.call(this, id)) as Installation;
  },
);

/** Ignores a name that is older than the stored one. `version` is GitHub's timestamp of the name. */
export const renameTenant = write(
  "registry",
  function* (id: string, name: string, version: number): Verb<void> {
    yield* execute(
      "UPDATE tenants SET name = ?, name_version = ? WHERE id = ? AND name_version <= ?",
      [name, version, id, version],
    );
  },
);

const MAY_REPLACE = {
  none: "excluded.version > installations.version AND installations.removed_at IS NULL",
  restored:
    "excluded.version > installations.version OR (excluded.version = installations.version " +
    "AND installations.suspended_at IS NOT NULL AND installations.removed_at IS NULL)",
  removed: "excluded.version >= installations.version AND installations.removed_at IS NULL",
};

export const findInstallation = read("registry", function* (id: string) {
  return yield* first<Installation>(`${SELECT_INSTALLATIONS} WHERE id = ?`, [id]);
});

export const listInstallations = read("registry", function* (tenant: string): Verb<Installation[]> {
  return yield* query<Installation>(
    `${SELECT_INSTALLATIONS} WHERE tenant_id = ? ORDER BY updated_at, id`,
    [tenant],
  );
});

const SELECT_INSTALLATIONS =
  "SELECT id, tenant_id AS tenant, account, version, suspended_at, removed_at FROM installations";
