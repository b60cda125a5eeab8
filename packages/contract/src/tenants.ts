/** Tenants: the list from which a person can choose one, and the settings and data of each. */
import { z } from "zod";
import { cursorFor, limitQuery, pageOf, time } from "./paging.ts";
import { route } from "./route.ts";

const tag = "tenants";

export const tenantCursors = cursorFor("tenant");

export const tenantView = z.object({
  id: z.string(),
  name: z.string().nullable(),
  pending: z.int().describe("The number of pending events."),
  created_at: time.nullable().describe("Null if the hub has stored nothing for the tenant yet."),
});

export type Tenant = z.output<typeof tenantView>;

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
        suspended_at: time.nullable(),
        removed_at: time.nullable(),
      }),
    )
    .describe("The installations of the GitHub App."),
});

export type TenantDetails = z.output<typeof tenantDetails>;

export const tenantApi = {
  list: route({
    method: "get",
    path: "/api/tenants",
    summary: "List the tenants that the token or session can access",
    tag,
    scope: "inbox:read",
    isShared: true,
    query: z.strictObject({ limit: limitQuery, cursor: tenantCursors.query }),
    response: { status: 200, schema: pageOf(tenantView) },
  }),
  get: route({
    method: "get",
    path: "/api/tenants/:tenant",
    summary: "Get a tenant with its settings and its installations",
    tag,
    scope: "admin",
    response: { status: 200, schema: tenantDetails },
  }),
  change: route({
    method: "patch",
    path: "/api/tenants/:tenant",
    summary:
      "Change the settings of a tenant; quota and max_bytes need a token for all tenants. Null: the hub's setting applies",
    tag,
    scope: "admin",
    body: z.strictObject(settingsView.partial().shape),
    response: { status: 200, schema: tenantDetails },
  }),
  export: route({
    method: "get",
    path: "/api/tenants/:tenant/export",
    summary:
      "Export all data of a tenant, one JSON object per line, without credentials. The last line has the kind `end`",
    tag,
    scope: "admin",
    response: { status: 200, type: "application/x-ndjson" },
  }),
  remove: route({
    method: "delete",
    path: "/api/tenants/:tenant",
    summary:
      "Delete a tenant. Its tokens are revoked and its webhooks rejected immediately; its data is deleted in the background, and the tenant exists until then",
    tag,
    scope: "admin",
    response: { status: 202, schema: z.object({ id: z.string(), deleting: z.boolean() }) },
  }),
};
