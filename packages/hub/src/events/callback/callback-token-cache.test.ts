import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../kernel/lib/hmac.ts";
import { StoreFailed } from "../../kernel/store/availability.ts";
import { createListeners } from "../../kernel/store/engine.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import type { FoundCallbackToken } from "../model.ts";
import { CALLBACK_TOKEN_PREFIX, createCallbackTokenCache } from "./callback-token-cache.ts";

const TOKEN = CALLBACK_TOKEN_PREFIX + "a".repeat(43);
const OTHER_TOKEN = CALLBACK_TOKEN_PREFIX + "b".repeat(43);
const storedToken: FoundCallbackToken = {
  tenant: "acme",
  connection: "weather-7kq2xv",
  subscription: "1",
  expires_at: null,
  isGone: false,
};

async function setUp() {
  const rows = new Map([[await sha256Hex(TOKEN), storedToken]]);
  const listeners = createListeners();
  const state = {
    rows,
    queries: 0,
    now: 1_000,
    isSubscribed: true,
    /** Called before a query returns. */
    beforeReturn: async () => {},
    notify: (notice: Notice) => listeners.notify([notice]),
  };
  const tokens = createCallbackTokenCache({
    store: {
      subscribe(...args) {
        const unsubscribe = listeners.subscribe(...args);
        return () => {
          state.isSubscribed = false;
          unsubscribe();
        };
      },
      async findCallbackToken(hash) {
        state.queries += 1;
        const row = rows.get(hash);
        await state.beforeReturn();
        return row;
      },
    },
    sha256Hex,
    now: () => state.now,
  });
  return { ...tokens, state };
}

it("finds a token by its hash, and caches it for a few seconds", async () => {
  const { find, state } = await setUp();
  const expected = { ...storedToken, hash: await sha256Hex(TOKEN) };
  expect(await Promise.all([find(TOKEN), find(TOKEN)])).toEqual([expected, expected]);
  state.now += 4_999;
  expect(await find(TOKEN)).toEqual(expected);
  expect(state.queries).toBe(1);
  state.now += 1;
  state.rows.clear();
  expect(await find(TOKEN)).toBeUndefined();
  expect(await find(TOKEN)).toBeUndefined();
  expect(state.queries).toBe(2);
});

it.each([
  ["short", TOKEN.slice(0, -1)],
  ["long", `${TOKEN}a`],
  ["without the prefix", "a".repeat(48)],
  ["an access token", `sbx_${"a".repeat(43)}`],
  ["with other characters", `${TOKEN.slice(0, -1)}=`],
])("rejects a secret that is %s, without a query", async (_, secret) => {
  const { find, state } = await setUp();
  expect(await find(secret)).toBeUndefined();
  expect(state.queries).toBe(0);
});

it("does not return a cached token that has expired meanwhile", async () => {
  const { find, state } = await setUp();
  state.rows.set(await sha256Hex(TOKEN), { ...storedToken, expires_at: 2_000 });
  expect(await find(TOKEN)).toMatchObject({ tenant: "acme" });
  state.now = 2_000;
  expect(await find(TOKEN)).toBeUndefined();
});

describe("a notice", () => {
  const notices: Notice[] = [
    { topic: "connections", due: 0 },
    { topic: "tools", tenant: "acme", app: "a" },
    { topic: "gap" },
  ];
  it.each(notices)("of the topic $topic clears the cache", async (notice) => {
    const { find, state } = await setUp();
    await find(TOKEN);
    await find(OTHER_TOKEN);
    state.rows.set(await sha256Hex(TOKEN), { ...storedToken, isGone: true });
    state.rows.set(await sha256Hex(OTHER_TOKEN), storedToken);
    state.notify({ topic: "events", tenant: "acme", seq: 1 });
    expect(await find(TOKEN)).toMatchObject({ isGone: false });
    state.notify(notice);
    expect(await find(TOKEN)).toMatchObject({ isGone: true });
    expect(await find(OTHER_TOKEN)).toMatchObject({ isGone: false });
  });

  it("during a query prevents that its result is cached", async () => {
    const { find, state } = await setUp();
    state.beforeReturn = async () => state.notify({ topic: "connections", due: 0 });
    expect(await find(TOKEN)).toMatchObject({ isGone: false });
    state.beforeReturn = async () => {};
    state.rows.set(await sha256Hex(TOKEN), { ...storedToken, isGone: true });
    expect(await find(TOKEN)).toMatchObject({ isGone: true });
  });

  it("is not received after close", async () => {
    const { close, state } = await setUp();
    close();
    expect(state.isSubscribed).toBe(false);
  });
});

it("does not cache a failure of the store", async () => {
  const { find, state } = await setUp();
  state.beforeReturn = () => Promise.reject(new Error("the disk is full"));
  await expect(find(TOKEN)).rejects.toBeInstanceOf(StoreFailed);
  state.beforeReturn = async () => {};
  expect(await find(TOKEN)).toMatchObject({ tenant: "acme" });
});
