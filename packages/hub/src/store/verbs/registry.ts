/** Tenants and GitHub installations. */

import { first, query, type Verb } from "../sql.ts";
import type { Installation, Tenant } from "../store.ts";

const TENANT = "id, name, created_at, seq, pruned_seq, pending, bytes, quota";

export function* putTenant(tenant: {
  id: string;
  name?: string | null;
  quota?: number | null;
  at: number;
}): Verb<Tenant> {
  yield* query("INSERT INTO tenants (id, created_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", [
    tenant.id,
    tenant.at,
  ]);
  if (tenant.name !== undefined)
    yield* query("UPDATE tenants SET name = ? WHERE id = ?", [tenant.name, tenant.id]);
  if (tenant.quota !== undefined)
    yield* query("UPDATE tenants SET quota = ? WHERE id = ?", [tenant.quota, tenant.id]);
  return (yield* getTenant(tenant.id)) as Tenant;
}

export function* getTenant(id: string): Verb<Tenant | undefined> {
  return yield* first<Tenant>(`SELECT ${TENANT} FROM tenants WHERE id = ?`, [id]);
}

export function* listTenants(after: string, limit: number): Verb<Tenant[]> {
  return yield* query<Tenant>(`SELECT ${TENANT} FROM tenants WHERE id > ? ORDER BY id LIMIT ?`, [
    after,
    limit,
  ]);
}

export function* putInstallation(
  installation: Omit<Installation, "removed_at">,
  at: number,
): Verb<void> {
  const { tenant: id, account } = installation;
  yield* putTenant(account === null ? { id, at } : { id, name: account, at });
  yield* query(
    "INSERT INTO installations (id, tenant_id, account, updated_at) VALUES (?, ?, ?, ?) " +
      "ON CONFLICT (id) DO UPDATE SET tenant_id = excluded.tenant_id, account = excluded.account, " +
      "updated_at = excluded.updated_at, removed_at = NULL",
    [installation.id, installation.tenant, installation.account, at],
  );
}

export function* removeInstallation(id: string, at: number): Verb<void> {
  yield* query("UPDATE installations SET removed_at = ?, updated_at = ? WHERE id = ?", [
    at,
    at,
    id,
  ]);
}

export function* findInstallation(id: string): Verb<Installation | undefined> {
  return yield* first<Installation>(
    "SELECT id, tenant_id AS tenant, account, removed_at FROM installations WHERE id = ?",
    [id],
  );
}
