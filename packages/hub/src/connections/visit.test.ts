import { expect, onTestFinished, test } from "vitest";
import { START } from "../events/store/contract/sample.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { createIds } from "../kernel/lib/ids.ts";
import { storeDefinition } from "../store.ts";
import { ConnectionError } from "./connection-error.ts";
import { createCallbackTokenDerivation } from "./staged-tokens.ts";
import {
  publishTriggers,
  republish,
  sampleConnection,
} from "./store/contract/connection-sample.ts";
import { createTestTriggerServer } from "./test-trigger-server.ts";
import { createVisit } from "./visit.ts";

const ID = "weather-7kq2xv";
const HOUR = 3_600_000;
const MINUTE = 60_000;
const NEW_URL = "https://new.example/mcp";

/** Publishes a trigger for `storm`. `visit` visits its connection when it is due. */
async function open(options: { isStored?: boolean } = {}) {
  const store = openSqlite(storeDefinition, ":memory:");
  onTestFinished(() => store.close());
  await store.createConnection(sampleConnection({ id: ID }), START);
  const flow = await publishTriggers(store, [{ node_id: "a" }]);
  const server = createTestTriggerServer("connection", ["storm", "rain"], options);
  /** The server at `NEW_URL`. */
  const newServer = createTestTriggerServer("connection", ["storm", "rain"]);
  const calls: unknown[] = [];
  /** For each visit, whether it has written the offers. */
  const hasWrittenOffers: boolean[] = [];
  const state = {
    now: START,
    isReachable: true,
    rejectedType: "",
    offers: server.offers,
    url: "http://hub.example/",
  };
  const assertReachable = () => {
    if (!state.isReachable) throw new ConnectionError("unreachable", "connection refused");
  };
  const visit = async () => {
    const due = (await store.nextConnectionDue()) ?? state.now;
    state.now = Math.max(state.now, due);
    const lease = { by: "me", now: state.now, until: state.now + 1_000, limit: 1 };
    const [leased] = await store.leaseConnections(lease);
    if (!leased) throw new Error("the connection is not due");
    await createVisit({
      store: {
        ...store,
        finishConnection(by, result, ...rest) {
          hasWrittenOffers.push(result.offers !== undefined);
          return store.finishConnection(by, result, ...rest);
        },
      },
      by: "me",
      deriveToken: createCallbackTokenDerivation(new Uint8Array(32)),
      context: { now: () => state.now, random: () => 0.5, callbackUrl: state.url },
      append: () => Promise.reject(new Error("nothing is polled")),
      newId: createIds(),
      log: { info() {}, warn() {}, error() {} },
      revokeRemoved: (_, remove) => remove(),
      connections: {
        disconnect() {},
        request: () => Promise.reject(new Error("nothing is polled")),
        async loadOffers({ target }) {
          if (!("url" in target && target.url === NEW_URL)) assertReachable();
          return state.offers;
        },
        async callTool({ target, sealed }, { arguments: args }) {
          if ("url" in target && target.url === NEW_URL) return newServer.configure(args);
          assertReachable();
          expect(sealed).toBe("sealed");
          calls.push(args);
          return args.type === state.rejectedType
            ? { isError: true, content: [{ type: "text", text: "city is required" }] }
            : server.configure(args);
        },
      },
    })(leased, new AbortController().signal);
  };
  const subscriptions = () => store.listTriggerSubscriptions("acme", ID);
  return {
    store,
    flow,
    server,
    newServer,
    state,
    calls,
    hasWrittenOffers,
    visit,
    subscriptions,
  };
}

test("a subscription of an unreachable server shows why it is not configured", async () => {
  const { state, visit, subscriptions } = await open();
  state.isReachable = false;
  await visit();
  await visit();
  expect(await subscriptions()).toMatchObject([
    { state: "configuring", error: "connection refused", attempt: 2 },
  ]);
  state.isReachable = true;
  await visit();
  expect(await subscriptions()).toMatchObject([{ state: "active", error: null, attempt: 0 }]);
});

test("a subscription records the defaults that the server may assume for values that it does not get", async () => {
  const { store, flow, state, calls, visit, subscriptions } = await open();
  const [storm] = state.offers.triggers;
  if (!storm) throw new Error("the server has no triggers");
  const paramsSchema = { city: { type: "string", default: "Rome" }, unit: { type: "string" } };
  state.offers = { ...state.offers, triggers: [{ ...storm, paramsSchema }] };
  const oslo = { node_id: "a", config: { params: { city: "Oslo", unit: "C" } } };
  const rome = { node_id: "b", config: { params: { city: "Rome", unit: "F" } } };
  const assumed = async () =>
    Object.fromEntries(
      (await subscriptions()).map(({ node_id, position }) => [node_id, position?.assumed]),
    );
  await republish(store, flow, [oslo]);
  await visit();
  expect(await assumed()).toEqual({ a: undefined });
  await republish(store, flow, [oslo, rome]);
  await visit();
  expect(calls.at(-1)).toMatchObject({ params: {} });
  expect(await assumed()).toEqual({ a: { city: "Rome" }, b: undefined });

  // The server declares that it assumes nothing: the next check, which renews, records this.
  const offered = { ...storm, paramsSchema, omittedParams: "any" as const };
  state.offers = { ...state.offers, triggers: [offered] };
  await visit();
  expect(await assumed()).toEqual({ a: undefined, b: undefined });
  state.offers = { ...state.offers, triggers: [{ ...storm, paramsSchema }] };
  await visit();
  await republish(store, flow, [oslo]);
  await visit();
  expect(await assumed()).toEqual({ a: undefined });
});

test("a subscription to any type names the type that the server rejects, and enables the others", async () => {
  const { store, flow, state, calls, visit, subscriptions } = await open();
  await republish(store, flow, [{ node_id: "a", type: null }]);
  state.rejectedType = "storm";
  await visit();
  expect(await subscriptions()).toMatchObject([
    { type: "", state: "failed", error: "storm: city is required" },
  ]);
  expect(calls).toMatchObject([{ type: "storm" }, { type: "rain", enabled: true }]);
});

test("a subscription to a server without TRIGGER_CONFIGURE fails", async () => {
  const { state, visit, subscriptions } = await open();
  state.offers = { ...state.offers, tools: [], triggers: [] };
  await visit();
  expect(await subscriptions()).toMatchObject([
    {
      state: "failed",
      error:
        "Weather offers no triggers: it has no tool TRIGGER_CONFIGURE. Poll one of its tools instead.",
    },
  ]);
});

test("a subscription is configured again when the URL of the hub changes", async () => {
  const { state, calls, visit } = await open();
  await visit();
  state.url = "http://hub.example/moved";
  await visit();
  expect(calls).toMatchObject([
    { callbackUrl: "http://hub.example/" },
    { callbackUrl: "http://hub.example/moved" },
  ]);
});

test("every check renews the subscriptions that a server does not store, with the same token and no write", async () => {
  const { store, server, state, calls, visit, subscriptions } = await open();
  await visit();
  const configured = await subscriptions();
  const rows = async () =>
    Promise.all(
      calls.map(async (call) => {
        const { callbackToken } = call as { callbackToken: string };
        return store.findCallbackToken(await sha256Hex(callbackToken), state.now);
      }),
    );
  server.reset();
  await visit();
  expect(state.now - START).toBeLessThan(6.5 * MINUTE);
  expect(server.notify("storm", {})).toHaveLength(1);
  while (state.now < START + 5 * HOUR) await visit();
  expect(calls.length).toBeGreaterThan(45);
  expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(1);
  expect(await rows()).toContainEqual(expect.objectContaining({ expires_at: null }));
  expect(await subscriptions()).toEqual(configured);
});

test("subscriptions that a server stores are renewed about every hour, on request, and for a new version", async () => {
  const { store, state, calls, visit, subscriptions } = await open({ isStored: true });
  await visit();
  expect(calls).toHaveLength(1);
  while (calls.length < 2) await visit();
  expect(state.now - START).toBeGreaterThan(0.7 * HOUR);
  expect(state.now - START).toBeLessThan(1.4 * HOUR);
  await store.renewSubscriptions("acme", ID, state.now + 1);
  const checkedBefore = (await store.getConnection("acme", ID))?.checked_at;
  await visit();
  expect(calls).toHaveLength(3);
  // The visit has also checked the server.
  expect((await store.getConnection("acme", ID))?.checked_at).not.toBe(checkedBefore);
  await visit();
  expect(calls).toHaveLength(3);
  state.offers = { ...state.offers, server: { name: "Weather", version: "2" } };
  await visit();
  expect(calls).toHaveLength(4);
  expect(await subscriptions()).toMatchObject([{ state: "active", error: null }]);
  expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(1);
});

test("a failed renewal is recorded, and the subscription stays active", async () => {
  const { server, state, calls, visit, subscriptions } = await open();
  await visit();
  const { configure } = server;
  server.configure = () => {
    throw new ConnectionError("timeout", "no answer");
  };
  await visit();
  expect(await subscriptions()).toMatchObject([
    { state: "active", error: "no answer", attempt: 1 },
  ]);
  server.configure = configure;
  const failedAt = state.now;
  await visit();
  expect(state.now - failedAt).toBeLessThan(2_000);
  expect(await subscriptions()).toMatchObject([{ state: "active", error: null, attempt: 0 }]);
  expect(calls).toHaveLength(3);
});

test("a removed subscription is kept until the server has confirmed the removal, for at most one day", async () => {
  const { store, flow, state, calls, visit, server } = await open();
  await visit();
  await republish(store, flow, [], state.now);
  state.isReachable = false;
  const removedAt = state.now;
  const isKept = async () => {
    const now = Number.MAX_SAFE_INTEGER;
    const [leased] = await store.leaseConnections({ by: "test", now, until: now, limit: 1 });
    await store.releaseConnections("test");
    return leased?.subscriptions.length === 1;
  };
  while (state.now < removedAt + 23 * HOUR) await visit();
  expect(await isKept()).toBe(true);
  while (state.now < removedAt + 24 * HOUR + 600_000) await visit();
  expect(await isKept()).toBe(false);
  expect(calls).toHaveLength(1);
  expect(server.notify("storm", {})).toHaveLength(1);
});

test("a new token makes all former tokens of the connection invalid after a day", async () => {
  const { store, flow, state, calls, visit, subscriptions } = await open();
  await visit();
  const [first] = await subscriptions();
  // The subscription with the smallest random id owns the credential: most likely one of these.
  const siblings = Array.from({ length: 20 }, (_, index) => ({ node_id: `sibling-${index}` }));
  await republish(store, flow, [{ node_id: "a" }, ...siblings], state.now);
  await visit();
  const isValid = async (call: unknown, now: number) => {
    const { callbackToken } = call as { callbackToken: string };
    return (await store.findCallbackToken(await sha256Hex(callbackToken), now)) !== undefined;
  };
  const sentBefore = calls.length;
  const last = (await subscriptions()).at(-1);
  for (const { id } of [first, last].filter((subscription) => subscription !== undefined)) {
    const former = [...calls];
    expect(
      await store.rotateCallbackToken("acme", ID, id, { revokeNow: false, at: state.now }),
    ).toBe(true);
    await visit();
    expect(calls.length).toBeGreaterThan(former.length);
    for (const call of former) expect(await isValid(call, state.now + 24 * HOUR)).toBe(false);
    expect(await isValid(calls.at(-1), state.now + 1_000 * HOUR)).toBe(true);
  }
  expect(calls.length).toBe(sentBefore + 2);
});

test("a server that never answers always gets the same token", async () => {
  const { store, server, state, calls, visit } = await open();
  server.configure = () => {
    throw new ConnectionError("timeout", "no answer");
  };
  while (calls.length < 60) await visit();
  expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(1);
  const { callbackToken } = calls[0] as { callbackToken: string };
  const hash = await sha256Hex(callbackToken);
  expect(await store.findCallbackToken(hash, state.now)).toMatchObject({ expires_at: null });
});

test("the offers of a server are written only when they have changed", async () => {
  const { store, state, hasWrittenOffers, visit } = await open();
  await visit();
  state.now += HOUR;
  await visit();
  const [trigger] = state.offers.triggers;
  state.offers = { ...state.offers, triggers: trigger ? [trigger] : [] };
  state.now += HOUR;
  await visit();
  expect(hasWrittenOffers).toEqual([true, false, true]);
  expect(await store.getConnection("acme", ID)).toMatchObject({ trigger_count: 1, status: "ok" });
});

test("when the URL changes, the triggers of the former server are disabled, and its token expires", async () => {
  const { store, server, newServer, state, calls, visit } = await open();
  await visit();
  const [sent] = server.notify("storm", {});
  const find = async (now: number) =>
    store.findCallbackToken(await sha256Hex(sent?.token ?? ""), now);
  state.now += 1;
  const change = { target: { url: NEW_URL }, sealed: "new" };
  await store.updateConnection("acme", ID, change, state.now);
  expect(await find(state.now)).toMatchObject({ expires_at: state.now + 24 * HOUR });
  await visit();
  expect(calls.at(-1)).toMatchObject({ type: "storm", enabled: false });
  expect(server.notify("storm", {})).toEqual([]);
  expect(newServer.notify("storm", {})).toHaveLength(1);
  expect(await find(state.now)).toBeUndefined();
  const callsBefore = calls.length;
  await visit();
  expect(calls).toHaveLength(callsBefore);
});

test("a former server that cannot be reached does not delay the new one", async () => {
  const { store, newServer, state, visit, subscriptions } = await open();
  await visit();
  state.isReachable = false;
  const change = { target: { url: NEW_URL }, sealed: "new" };
  await store.updateConnection("acme", ID, change, state.now);
  await visit();
  expect(await subscriptions()).toMatchObject([{ state: "active" }]);
  expect(newServer.notify("storm", {})).toHaveLength(1);
});
