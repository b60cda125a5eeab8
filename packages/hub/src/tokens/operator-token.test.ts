import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { EVERY_TENANT } from "../kernel/access/scopes.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { storeDefinition } from "../store.ts";
import { hasOperatorToken } from "./operator-token.ts";
import { createToken, ensureAdminToken, type NewToken } from "./tokens.ts";

const NOW = Date.UTC(2026, 0, 1);

function setUp() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const create = (id: string, token: Partial<NewToken> = {}) =>
    createToken(store, {
      id,
      name: id,
      scopes: ["admin"],
      tenants: [EVERY_TENANT],
      expiresAt: null,
      now: NOW,
      ...token,
    });
  return { store, create };
}

it.each<[string, Partial<NewToken>]>([
  ["of one tenant", { tenants: ["local"] }],
  ["of a person", { person: "7" }],
  ["without the scope admin", { scopes: ["inbox:read", "metrics:read"] }],
  ["that has expired", { expiresAt: NOW }],
])("does not count a token %s", async (_, token) => {
  const { store, create } = setUp();
  await create("other", token);
  expect(await hasOperatorToken(store, NOW)).toBe(false);
  await create("operator");
  expect(await hasOperatorToken(store, NOW)).toBe(true);
});

it("counts the token of the first start until it is revoked, and that of the settings", async () => {
  const { store } = setUp();
  await ensureAdminToken(store, undefined, NOW);
  expect(await hasOperatorToken(store, NOW)).toBe(true);
  await store.revokeToken("admin", NOW);
  expect(await hasOperatorToken(store, NOW)).toBe(false);
  await ensureAdminToken(store, "from the settings", NOW);
  expect(await hasOperatorToken(store, NOW)).toBe(true);
  await ensureAdminToken(store, undefined, NOW);
  expect(await hasOperatorToken(store, NOW)).toBe(false);
});

it("finds the token among many that were revoked", async () => {
  const { store, create } = setUp();
  await create("0");
  for (let count = 1; count <= 250; count += 1) {
    await create(`${count}`);
    await store.revokeToken(`${count}`, NOW);
  }
  expect(await hasOperatorToken(store, NOW)).toBe(true);
  await store.revokeToken("0", NOW);
  expect(await hasOperatorToken(store, NOW)).toBe(false);
});
