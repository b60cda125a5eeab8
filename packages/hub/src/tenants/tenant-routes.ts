/** Routes of tenants: the list from which a person can choose one, and the settings and data of each. */
import { z } from "zod";
import { assertForAllTenants } from "../kernel/access/for-all-tenants.ts";
import type { TokenLookup } from "../kernel/access/granted-scopes.ts";
import { EVERY_TENANT } from "../kernel/access/scopes.ts";
import { cursorFor, iso, isoOrNull, limitQuery, page, pageOf } from "../kernel/http/paging.ts";
import { defineRoute, NO_STORE, noSuchTenant, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import { exportTenant } from "./export-tenant.ts";
import type { Tenant, TenantSettings } from "./model.ts";
import type { TenantDeletions } from "./tenant-deletions.ts";

const tag = "tenants";
const cursors = cursorFor("tenant");
const DAY_MS = 24 * 3_600_000;

export const tenantView = z.object({
  id: z.string(),
  name: z.string().nullable(),
  pending: z.int().describe("The number of pending events."),
  created_at: z.iso
    .datetime()
    .nullable()
    .describe("Null if the hub has stored nothing for the tenant yet."),
});

/** Only the id is known if nothing is stored for the tenant yet. */
type ListedTenant = Pick<Tenant, "id"> & Partial<Tenant>;

const viewTenant = ({ id, name = null, pending = 0, created_at }: ListedTenant) =>
  ({
    id,
    name,
    pending,
    created_at: created_at === undefined ? null : iso(created_at),
  }) satisfies z.input<typeof tenantView>;

const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const days = z.number().positive("must be above 0").max(36_500);

const settingsView = z.object({
  quota: count.nullable().describe("The maximum number of pending events."),
  processed_days: days.nullable().describe("How long processed events are kept."),
  pending_days: days.nullable().describe("How long pending events are kept."),
  max_bytes: count.nullable().describe("The maximum bytes of the stored events and ended runs."),
});

export const tenantDetails = tenantView.extend({
  events: z.int().describe("The number of events ever received."),
  bytes: z
    .int()
    .describe(
      "The bytes of the stored events in the database: rows, verdicts and compressed payloads.",
    ),
  runs_bytes: z.int().describe("The bytes of the ended runs in the database, with their steps."),
  deleting: z.boolean().describe("Whether the data of the tenant is being deleted."),
  settings: settingsView.describe("The tenant's own settings. Null: the hub's setting applies."),
  in_force: settingsView.describe("The settings that apply. Null: no limit."),
  installations: z
    .array(
      z.object({
        id: z.string(),
        account: z.string().nullable(),
        suspended_at: z.iso.datetime().nullable(),
        removed_at: z.iso.datetime().nullable(),
      }),
    )
    .describe("The installations of the GitHub App."),
});

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
    "getTenant" | "listTenants" | "listInstallations" | "putTenant" | "exportRows" | "getPayload"
  >;
  tokens: TokenLookup;
  tenancy: "single" | "github";
  defaults: TenantDefaults;
  deletions: Pick<TenantDeletions, "start">;
  now: () => number;
}

export function tenantRoutes(options: TenantRoutes): Route[] {
  const { store, tokens, tenancy, defaults, deletions, now } = options;
  async function viewDetails(id: string): Promise<z.input<typeof tenantDetails>> {
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
    defineRoute({
      method: "get",
      path: "/api/tenants",
      summary: "List the tenants that the token or session can access",
      tag,
      scope: "inbox:read",
      isShared: true,
      query: z.strictObject({ limit: limitQuery, cursor: cursors.query }),
      response: { status: 200, schema: pageOf(tenantView) },
      async handle({ access, query: { limit, cursor = "" } }) {
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
        return { json: page(tenants, limit, ({ id }) => cursors.of(id), viewTenant) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/tenants/:tenant",
      summary: "Get a tenant with its settings and its installations",
      tag,
      scope: "admin",
      response: { status: 200, schema: tenantDetails },
      handle: async ({ tenant }) => ({ json: await viewDetails(tenant) }),
    }),
    defineRoute({
      method: "patch",
      path: "/api/tenants/:tenant",
      summary:
        "Change the settings of a tenant; quota and max_bytes need a token for all tenants. Null: the hub's setting applies",
      tag,
      scope: "admin",
      body: z.strictObject(settingsView.partial().shape),
      response: { status: 200, schema: tenantDetails },
      async handle({ access, tenant, body }) {
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
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/tenants/:tenant/export",
      summary:
        "Export all data of a tenant, one JSON object per line, without credentials. The last line has the kind `end`",
      tag,
      scope: "admin",
      response: { status: 200, type: "application/x-ndjson" },
      async handle({ tenant }) {
        if (!(await store.getTenant(tenant))) throw noSuchTenant(tenant);
        return new Response(exportTenant(store, tenant, now()), {
          headers: {
            "content-type": "application/x-ndjson",
            "content-disposition": `attachment; filename="tenant-${encodeURIComponent(tenant)}.ndjson"`,
            ...NO_STORE,
          },
        });
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/tenants/:tenant",
      summary:
        "Delete a tenant. Its tokens are revoked and its webhooks rejected immediately; its data is deleted in the background, and the tenant exists until then",
      tag,
      scope: "admin",
      response: { status: 202, schema: z.object({ id: z.string(), deleting: z.boolean() }) },
      async handle({ tenant }) {
        if (tenancy === "single")
          throw new RequestError(
            "conflict",
            "tenant",
            `${tenant} is the only tenant of this hub. To delete everything, stop the hub, and delete its data folder and its database.`,
          );
        if (!(await deletions.start(tenant))) throw noSuchTenant(tenant);
        return { status: 202, json: { id: tenant, deleting: true } };
      },
    }),
  ];
}
