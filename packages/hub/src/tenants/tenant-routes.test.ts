import { Hono } from "hono";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { appendEvents, sampleEvents } from "../events/store/contract/sample.ts";
import { systemTimers } from "../hosts/node/ports.ts";
import { createAuthorizeRequest } from "../kernel/access/authorize-request.ts";
import { createAuthorizer } from "../kernel/access/authorizer.ts";
import { EVERY_TENANT } from "../kernel/access/scopes.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { mountRoutes } from "../kernel/http/route.ts";
import type { Store } from "../store.ts";
import { storeDefinition } from "../store.ts";
import { createToken } from "../tokens/tokens.ts";
import { createTenantDeletions } from "./tenant-deletions.ts";
import { tenantRoutes } from "./tenant-routes.ts";

const DAY = 24 * 3_600_000;
const NOW = Date.UTC(2026, 10, 17);
const defaults = {
  quota: 10_000,
  retention: { processedFor: 3 * DAY, pendingFor: 90 * DAY, maxBytes: 8_000 },
};

let store: Store;
let app: Hono;
/** A token for all tenants. */
let operator: string;
/** A token for the tenant acme. */
let acme: string;
let waitForDeletions: () => Promise<void>;

beforeEach(async () => {
  store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const now = () => NOW;
  const authorizer = createAuthorizer({ store, now, everyTenant: undefined });
  const deletions = createTenantDeletions({
    store,
    timers: { ...systemTimers, now },
    isStopped: () => false,
    onError(error) {
      throw error;
    },
  });
  waitForDeletions = deletions.idle;
  app = new Hono();
  mountRoutes(
    app,
    tenantRoutes({ store, tokens: store, tenancy: "github", defaults, deletions, now }),
    createAuthorizeRequest({ authorizer, checkHost: () => undefined }),
  );
  const tokenFor = (...tenants: string[]) =>
    createToken(store, {
      id: tenants.join(),
      name: "test",
      scopes: ["admin"],
      tenants,
      expiresAt: null,
      now: NOW,
    });
  operator = await tokenFor(EVERY_TENANT);
  acme = await tokenFor("acme");
  for (const id of ["acme", "umbrella"]) await store.putTenant({ id, at: NOW });
});

async function call(method: string, path: string, token: string, body?: unknown) {
  const response = await app.request(`http://hub${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: JSON.parse((await response.text()) || "null") };
}

const NO_SETTINGS = { quota: null, processed_days: null, pending_days: null, max_bytes: null };
const HUB_SETTINGS = { quota: 10_000, processed_days: 3, pending_days: 90, max_bytes: 8_000 };

describe("a tenant", () => {
  it("has the hub's settings until it gets its own", async () => {
    await store.putInstallation(
      { id: "7", tenant: "acme", account: "acme", version: 1, change: "removed", suspended_at: 5 },
      NOW,
    );
    const first = await call("GET", "/api/tenants/acme", operator);
    expect(first.json).toMatchObject({ id: "acme", name: "acme", pending: 0, events: 0, bytes: 0 });
    expect(first.json).toMatchObject({ settings: NO_SETTINGS, in_force: HUB_SETTINGS });
    expect(first.json.installations).toEqual([
      {
        id: "7",
        account: "acme",
        suspended_at: new Date(5).toISOString(),
        removed_at: new Date(NOW).toISOString(),
      },
    ]);
    const change = { quota: 5, processed_days: 0.5, pending_days: 90, max_bytes: 9_000 };
    const changed = await call("PATCH", "/api/tenants/acme", operator, change);
    expect([changed.status, changed.json.settings]).toEqual([200, change]);
    expect(changed.json.in_force).toEqual(change);
    const reset = await call("PATCH", "/api/tenants/acme", operator, { quota: null });
    expect(reset.json.settings).toEqual({ ...change, quota: null });
    expect((await store.getTenant("umbrella"))?.quota).toBeNull();
  });

  it("cannot keep events longer than the hub", async () => {
    const longer = await call("PATCH", "/api/tenants/acme", operator, { processed_days: 3.01 });
    expect([longer.status, longer.json.errors[0].path]).toEqual([400, "processed_days"]);
    expect(longer.json.detail).toContain("at most 3");
    // The time was valid before the operator shortened the hub's retention.
    await store.putTenant({ id: "acme", pending_for: 100 * DAY, at: NOW });
    const { json } = await call("GET", "/api/tenants/acme", operator);
    expect([json.settings.pending_days, json.in_force.pending_days]).toEqual([100, 90]);
  });

  it.each([{ quota: -1 }, { quota: 1.5 }, { pending_days: 0 }, { max_bytes: "9" }, { name: "x" }])(
    "rejects the settings %j",
    async (change) => {
      expect((await call("PATCH", "/api/tenants/acme", operator, change)).status).toBe(400);
    },
  );
});

describe("an admin of one tenant", () => {
  it("can change the retention times, but not the quota and the maximum size", async () => {
    const path = "/api/tenants/acme";
    expect((await call("PATCH", path, acme, { processed_days: 1 })).status).toBe(200);
    for (const change of [{ quota: 1 }, { max_bytes: null }])
      expect((await call("PATCH", path, acme, change)).status, JSON.stringify(change)).toBe(403);
    expect((await call("GET", path, acme)).json.settings).toEqual({
      ...NO_SETTINGS,
      processed_days: 1,
    });
  });

  it("gets the same response for another tenant as for one that does not exist", async () => {
    const responses = await Promise.all(
      ["umbrella", "none", "umbrella?tenant=acme", "umbrella?tenant=umbrella"].flatMap((path) => [
        call("GET", `/api/tenants/${path}`, acme),
        call("PATCH", `/api/tenants/${path}`, acme, { processed_days: 1 }),
        call("DELETE", `/api/tenants/${path}`, acme),
        call("GET", `/api/tenants/${path.replace(/\b(?=\?|$)/, "/export")}`, acme),
      ]),
    );
    for (const { status, json } of responses) {
      expect(status).toBe(404);
      expect(json.detail).toMatch(/^There is no tenant \w+\.$/);
    }
    expect((await call("GET", "/api/tenants/none", operator)).json.detail).toBe(
      "There is no tenant none.",
    );
    expect((await store.getTenant("umbrella"))?.processed_for).toBeNull();
  });
});

describe("the deletion of a tenant", () => {
  it("is accepted from an admin of the tenant, and deletes the tenant", async () => {
    await appendEvents(store, sampleEvents(3), "acme");
    const accepted = await call("DELETE", "/api/tenants/acme", acme);
    expect([accepted.status, accepted.json]).toEqual([202, { id: "acme", deleting: true }]);
    await waitForDeletions();
    expect((await call("GET", "/api/tenants/acme", operator)).status).toBe(404);
    expect((await call("DELETE", "/api/tenants/acme", operator)).status).toBe(404);
    expect((await call("GET", "/api/tenants", operator)).json.items).toMatchObject([
      { id: "umbrella" },
    ]);
  });

  it("is rejected on a hub with one tenant", async () => {
    const [, , , , remove] = tenantRoutes({
      store,
      tokens: store,
      tenancy: "single",
      defaults,
      now: () => NOW,
      deletions: { start: () => Promise.reject(new Error("unexpected deletion")) },
    });
    expect(remove?.method).toBe("delete");
    await expect(remove?.handle({ tenant: "local" } as never)).rejects.toThrow(
      "the only tenant of this hub",
    );
  });
});

it("exports a tenant as NDJSON", async () => {
  await appendEvents(store, sampleEvents(2), "acme");
  const response = await app.request("http://hub/api/tenants/acme/export", {
    headers: { authorization: `Bearer ${acme}` },
  });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const kinds = (await response.text()).split("\n").map((line) => line && JSON.parse(line).kind);
  expect(kinds).toEqual(["export", "tenant", "token", "event", "event", "end", ""]);
});
