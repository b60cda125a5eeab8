import { unknownTenantError } from "@signalbox/contract/scopes.ts";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { EVERY_TENANT, MAX_TENANTS } from "../kernel/access/scopes.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { storeDefinition } from "../store.ts";
import { createToken, ensureAdminToken } from "./tokens.ts";

const NOW = Date.UTC(2026, 0, 1);

function setUp() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const isValid = async (secret: string | undefined) => {
    const token = await store.findToken(await sha256Hex(secret ?? ""));
    return token !== undefined && token.revoked_at === null && token.expires_at === null;
  };
  return { store, isValid };
}

it("creates an admin token only on the first start", async () => {
  const { store, isValid } = setUp();
  const created = await ensureAdminToken(store, undefined, NOW);
  expect(created).toMatch(/^sbx_[\w-]{43}$/);
  expect(await isValid(created)).toBe(true);
  expect(await store.listTokens({ limit: 100 })).toMatchObject([
    { scopes: ["admin"], tenants: [EVERY_TENANT] },
  ]);
  expect(await ensureAdminToken(store, undefined, NOW + 1)).toBeUndefined();
  expect(await isValid(created)).toBe(true);
});

it("revokes the former token when the setting changes, and restores it when the setting changes back", async () => {
  const { store, isValid } = setUp();
  const [first, second] = ["the first of two tokens", "the second of two tokens"] as const;
  expect(await ensureAdminToken(store, first, NOW)).toBeUndefined();
  expect([await isValid(first), await isValid(second)]).toEqual([true, false]);
  await ensureAdminToken(store, second, NOW + 1);
  expect([await isValid(first), await isValid(second)]).toEqual([false, true]);
  await ensureAdminToken(store, first, NOW + 2);
  expect([await isValid(first), await isValid(second)]).toEqual([true, false]);
});

it("revokes the token of the setting when the setting is removed, and creates another one", async () => {
  const { store, isValid } = setUp();
  await ensureAdminToken(store, "from the settings", NOW);
  const created = await ensureAdminToken(store, undefined, NOW + 1);
  expect([await isValid("from the settings"), await isValid(created)]).toEqual([false, true]);
});

it("does not revoke tokens that are not from the settings", async () => {
  const { store, isValid } = setUp();
  const created = await ensureAdminToken(store, undefined, NOW);
  await ensureAdminToken(store, "from the settings", NOW + 1);
  expect(await isValid(created)).toBe(true);
});

it("rejects a token for more tenants than a cursor can contain", async () => {
  const { store } = setUp();
  const create = (count: number) =>
    createToken(store, {
      id: `of ${count}`,
      name: "many",
      scopes: ["inbox:read"],
      tenants: Array.from({ length: count }, (_, at) => `${at}`),
      expiresAt: null,
      now: NOW,
    });
  await expect(create(MAX_TENANTS + 1)).rejects.toMatchObject({
    code: "invalid",
    field: "tenants",
  });
  expect(await store.listTokens({ limit: 100 })).toEqual([]);
  expect(await create(MAX_TENANTS)).toMatch(/^sbx_/);
});

it("reports a tenant other than local on a hub with one tenant", () => {
  expect(unknownTenantError(["local"])).toBeUndefined();
  expect(unknownTenantError([EVERY_TENANT])).toBeUndefined();
  expect(unknownTenantError(["local", "nope"])).toMatch(/^"nope" does not exist: .*only .*local/);
});
