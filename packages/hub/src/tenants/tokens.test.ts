import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { sha256Hex } from "../lib/hmac.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { createToken, EVERY_TENANT, ensureAdminToken, MAX_TENANTS } from "./tokens.ts";

const NOW = Date.UTC(2026, 0, 1);

function open() {
  const store = openSqlite(`${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const isGood = async (secret: string | undefined) => {
    const token = await store.findToken(await sha256Hex(secret ?? ""));
    return token !== undefined && token.revoked_at === null && token.expires_at === null;
  };
  return { store, isGood };
}

it("makes an admin token on the first start, and only then", async () => {
  const { store, isGood } = open();
  const made = await ensureAdminToken(store, undefined, NOW);
  expect(made).toMatch(/^sbx_[\w-]{43}$/);
  expect(await isGood(made)).toBe(true);
  expect(await store.listTokens()).toMatchObject([{ scopes: ["admin"], tenants: [EVERY_TENANT] }]);
  expect(await ensureAdminToken(store, undefined, NOW + 1)).toBeUndefined();
  expect(await isGood(made)).toBe(true);
});

it("revokes a given token when another is given, and takes it back", async () => {
  const { store, isGood } = open();
  const [one, two] = ["the first of two tokens", "the second of two tokens"] as const;
  expect(await ensureAdminToken(store, one, NOW)).toBeUndefined();
  expect([await isGood(one), await isGood(two)]).toEqual([true, false]);
  await ensureAdminToken(store, two, NOW + 1);
  expect([await isGood(one), await isGood(two)]).toEqual([false, true]);
  await ensureAdminToken(store, one, NOW + 2);
  expect([await isGood(one), await isGood(two)]).toEqual([true, false]);
});

it("revokes a given token that is given no longer, and makes one so that somebody can get in", async () => {
  const { store, isGood } = open();
  await ensureAdminToken(store, "given for a while", NOW);
  const made = await ensureAdminToken(store, undefined, NOW + 1);
  expect([await isGood("given for a while"), await isGood(made)]).toEqual([false, true]);
});

it("leaves the tokens that people made alone", async () => {
  const { store, isGood } = open();
  const made = await ensureAdminToken(store, undefined, NOW);
  await ensureAdminToken(store, "given later on", NOW + 1);
  expect(await isGood(made)).toBe(true);
});

it("makes no token for more tenants than a cursor can name", async () => {
  const { store } = open();
  const make = (count: number) =>
    createToken(store, {
      id: `of ${count}`,
      name: "many",
      scopes: ["inbox:read"],
      tenants: Array.from({ length: count }, (_, at) => `${at}`),
      expiresAt: null,
      now: NOW,
    });
  await expect(make(MAX_TENANTS + 1)).rejects.toMatchObject({ code: "invalid", field: "tenants" });
  expect(await store.listTokens()).toEqual([]);
  expect(await make(MAX_TENANTS)).toMatch(/^sbx_/);
});
