/** Routes of tenants: the list from which a person can choose one, and the settings and data of each. */
import {
  tenantApi,
  tenantCursors,
  type tenantDetails,
  type tenantView,
} from "@signalbox/contract/tenants.ts";
import type { z } from "zod";
import { assertForAllTenants } from "../kernel/access/authorizer.ts";
import { EVERY_TENANT, type TokenLookup } from "../kernel/access/scopes.ts";
import { iso, isoOrNull, page } from "../kernel/http/paging.ts";
import { implement, NO_STORE, noSuchTenant, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import { exportTenant } from "./export-tenant.ts";
import type { Tenant, TenantSettings } from "./model.ts";
import type { TenantDeletions } from "./tenant-deletions.ts";

const DAY_MS = 24 * 3_600_000;

/** Only the id is known if nothing is stored for the tenant yet. */
type ListedTenant = Pick<Tenant, "id"> & Partial<Tenant>;

const viewTenant = ({ id, name = null, pending = 0, created_at }: ListedTenant) =>
  ({
    id,
    name,
    pending,
    created_at: created_at === undefined ? null : iso(created_at),
  }) satisfies z.output<typeof tenantView>;

/** The hub's settings, which apply to tenants without their own settings. */
interface TenantDefaults {
  quota: number | null;
  retention: { processedFor: number; pendingFor: number; maxBytes: number };
}

const toDays = (ms: number) => ms / DAY_MS;
const toDaysOrNull = (ms: number | null) => (ms === null ? null : toDays(ms));

const viewSettings = ({ quota, processed_for, pending_for, max_bytes }: TenantSettings) => ({
  quota,
  processed_days: toDaysOrNull(processed_for),
  pending_days: toDaysOrNull(pending_for),
  max_bytes,
});

/** The retention times of a tenant can only be shorter than those of the hub. */
const effectiveSettings = (tenant: TenantSettings, { quota, retention }: TenantDefaults) =>
  viewSettings({
    quota: tenant.quota ?? quota,
    processed_for: Math.min(tenant.processed_for ?? Infinity, retention.processedFor),
    pending_for: Math.min(tenant.pending_for ?? Infinity, retention.pendingFor),
    max_bytes: tenant.max_bytes ?? retention.maxBytes,
  });

/** The settings that only an operator may change, because they limit the cost of a tenant. */
const OPERATOR_SETTINGS = ["quota", "max_bytes"] as const;

export interface TenantRoutes {
  store: Pick<
    Store,
    | "getTenant"
    | "listTenants"
    | "listInstallations"
    | "putTenant"
    | "exportRows"
    | "getPayload"
    | "tables"
  >;
  tokens: TokenLookup;
  tenancy: "single" | "github";
  defaults: TenantDefaults;
  deletions: Pick<TenantDeletions, "start">;
  now: () => number;
}

export function tenantRoutes(options: TenantRoutes): Route[] {
  const { store, tokens, tenancy, defaults, deletions, now } = options;
  async function viewDetails(id: string): Promise<z.output<typeof tenantDetails>> {
    const [tenant, installations] = await Promise.all([
      store.getTenant(id),
      store.listInstallations(id),
    ]);
    if (!tenant) throw noSuchTenant(id);
    return {
      ...viewTenant(tenant),
      events: tenant.seq,
      bytes: tenant.bytes,
      runs_bytes: tenant.runs_bytes,
      deleting: tenant.deleting,
      settings: viewSettings(tenant),
      in_force: effectiveSettings(tenant, defaults),
      installations: installations.map(({ id: installation, account, ...state }) => ({
        id: installation,
        account,
        suspended_at: isoOrNull(state.suspended_at),
        removed_at: isoOrNull(state.removed_at),
      })),
    };
  }

  function retentionMs(field: string, daysOrNull: number | null, maxMs: number): number | null {
    if (daysOrNull === null) return null;
    const ms = Math.round(daysOrNull * DAY_MS);
    if (ms <= maxMs) return ms;
    throw new RequestError(
      "invalid",
      field,
      `must be at most ${toDays(maxMs)}, the number of days for which the hub keeps events`,
    );
  }

  return [
    implement(tenantApi.list, async ({ access, query: { limit, cursor = "" } }) => {
      const granted = (await tokens.getToken(access.token))?.tenants ?? [];
      const tenants: ListedTenant[] = granted.includes(EVERY_TENANT)
        ? await store.listTenants(cursor, limit)
        : await Promise.all(
            granted
              .filter((id) => id > cursor)
              .toSorted()
              .slice(0, limit)
              .map(async (id) => (await store.getTenant(id)) ?? { id }),
          );
      return { json: page(tenants, limit, ({ id }) => tenantCursors.of(id), viewTenant) };
    }),
    implement(tenantApi.get, async ({ tenant }) => ({ json: await viewDetails(tenant) })),
    implement(tenantApi.change, async ({ access, tenant, body }) => {
      const { processed_days, pending_days, quota, max_bytes } = body;
      if (OPERATOR_SETTINGS.some((field) => body[field] !== undefined))
        await assertForAllTenants(tokens, access);
      const { processedFor, pendingFor } = defaults.retention;
      const change: Partial<TenantSettings> = {
        ...(quota !== undefined && { quota }),
        ...(max_bytes !== undefined && { max_bytes }),
        ...(processed_days !== undefined && {
          processed_for: retentionMs("processed_days", processed_days, processedFor),
        }),
        ...(pending_days !== undefined && {
          pending_for: retentionMs("pending_days", pending_days, pendingFor),
        }),
      };
      if (!(await store.getTenant(tenant))) throw noSuchTenant(tenant);
      await store.putTenant({ id: tenant, at: now(), ...change });
      return { json: await viewDetails(tenant) };
    }),
    implement(tenantApi.export, async ({ tenant }) => {
      if (!(await store.getTenant(tenant))) throw noSuchTenant(tenant);
      return new Response(exportTenant(store, tenant, now()), {
        headers: {
          "content-type": "application/x-ndjson",
          "content-disposition": `attachment; filename="tenant-${encodeURIComponent(tenant)}.ndjson"`,
          ...NO_STORE,
        },
      });
    }),
    implement(tenantApi.remove, async ({ tenant }) => {
      if (tenancy === "single")
        throw new RequestError(
          "conflict",
          "tenant",
          `${tenant} is the only tenant of this hub. To delete everything, stop the hub, and delete its data folder and its database.`,
        );
      if (!(await deletions.start(tenant))) throw noSuchTenant(tenant);
      return { json: { id: tenant, deleting: true } };
    }),
  ];
}
