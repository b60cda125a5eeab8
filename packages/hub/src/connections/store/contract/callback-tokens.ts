import { expect } from "vitest";
import { allNotices } from "../../../events/store/contract/all-notices.ts";
import { DAY, START } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { CallbackScope, ConfirmedToken } from "../../model.ts";
import { leaseOne, publishTriggers, republish, sampleConnection } from "./connection-sample.ts";

const ID = "weather-7kq2xv";

/** Creates a connection and two triggers. Returns their flow, and the ids of their subscriptions. */
async function subscribe(store: Store) {
  await store.createConnection(sampleConnection(), START);
  const flow = await publishTriggers(store, [{ node_id: "a" }, { node_id: "b" }]);
  const [a, b] = (await store.listTriggerSubscriptions("acme", ID)).toSorted((left, right) =>
    left.node_id < right.node_id ? -1 : 1,
  );
  return { flow, a: a?.id ?? "", b: b?.id ?? "" };
}

const stage = (
  store: Store,
  hash: string,
  subscription: string,
  scope: CallbackScope = "subscription",
  at = START,
  types: readonly string[] = ["storm"],
  generation = 0,
) =>
  store.stageCallbackToken({
    hash,
    tenant: "acme",
    connection: ID,
    subscription,
    generation,
    scope,
    target: sampleConnection().target,
    types,
    at,
  });

const confirm = (store: Store, hash: string, at = START, overrides: Partial<ConfirmedToken> = {}) =>
  store.confirmCallbackToken({ hash, type: "storm", wanted: ["storm", "rain"], at, ...overrides });
const reject = (store: Store, hash: string, at: number, type = "storm") =>
  store.rejectCallbackToken({ hash, type, at });

export function callbackTokensContract(it: It): void {
  it("are valid before they are confirmed", async ({ store, reopen }) => {
    const { a } = await subscribe(store);
    await stage(store, "one", a);
    const reopened = await reopen();
    expect(await reopened.findCallbackToken("one", START + 900 * DAY)).toEqual({
      tenant: "acme",
      connection: ID,
      subscription: a,
      expires_at: null,
      isGone: false,
    });
    expect(await reopened.findCallbackToken("two", START)).toBeUndefined();
  });

  it("expire when another one is confirmed, even if they were never confirmed or were rejected", async ({
    store,
  }) => {
    const { a, b } = await subscribe(store);
    await stage(store, "current", a);
    await confirm(store, "current");
    await stage(store, "timed out", a);
    await stage(store, "rejected", a);
    await stage(store, "sibling", b);
    await reject(store, "rejected", START - DAY + 5);
    await reject(store, "rejected", START - DAY + 9);
    const expiry = async (hash: string, now = START) =>
      (await store.findCallbackToken(hash, now))?.expires_at;
    expect(await expiry("current")).toBeNull();
    expect(await expiry("timed out")).toBeNull();
    expect(await expiry("rejected")).toBe(START + 5);
    await confirm(store, "unknown");
    await stage(store, "new", a);
    await confirm(store, "new");
    expect(await expiry("new")).toBeNull();
    expect(await expiry("current")).toBe(START + DAY);
    expect(await expiry("timed out", START + DAY - 1)).toBe(START + DAY);
    expect(await expiry("timed out", START + DAY)).toBeUndefined();
    expect(await expiry("rejected", START + 4)).toBe(START + 5);
    expect(await expiry("rejected", START + 5)).toBeUndefined();
    expect(await expiry("sibling")).toBeNull();
    // The server has accepted this token after all.
    await confirm(store, "timed out", START + DAY);
    expect(await expiry("timed out")).toBeNull();
    expect(await expiry("new")).toBe(START + 2 * DAY);
    expect(await expiry("current")).toBe(START + DAY);
  });

  it("have exactly one current token after a hundred concurrent confirmations", async ({
    store,
    reopen,
    sql,
  }) => {
    const { a } = await subscribe(store);
    const hashes = Array.from({ length: 100 }, (_, index) => `hash-${index}`);
    await Promise.all(hashes.map((hash) => stage(store, hash, a)));
    const stores = [store, await reopen()];
    await Promise.all(hashes.map((hash, index) => confirm(stores[index % 2] as Store, hash)));
    const current = await sql("SELECT hash FROM callback_tokens WHERE expires_at IS NULL");
    expect(current).toHaveLength(1);
    const valid = async (now: number) =>
      (await Promise.all(hashes.map((hash) => store.findCallbackToken(hash, now)))).filter(Boolean)
        .length;
    expect(await valid(START + DAY - 1)).toBe(100);
    expect(await valid(START + DAY)).toBe(1);
  });

  it("of a whole connection expire when newer tokens are confirmed for all of their types that are wanted", async ({
    store,
  }) => {
    const { a, b } = await subscribe(store);
    const add = (hash: string, subscription: string, types: string[]) =>
      stage(store, hash, subscription, "connection", START, types);
    const expiry = async (hash: string) =>
      (await store.findCallbackToken(hash, START))?.expires_at ?? null;
    await add("both", a, ["storm", "rain"]);
    await confirm(store, "both");
    await confirm(store, "both", START, { type: "rain" });
    await add("storm of a sibling", b, ["storm"]);
    await confirm(store, "storm of a sibling");
    // The server may still use the token "both" for rain.
    expect(await expiry("both")).toBeNull();
    await add("lost", b, ["rain"]);
    await add("rejected", b, ["rain", "storm"]);
    await reject(store, "rejected", START, "rain");
    expect(await expiry("rejected")).toBeNull();
    await add("rain", b, ["rain"]);
    await confirm(store, "rain", START + 5, { type: "rain" });
    expect(await expiry("both")).toBe(START + 5 + DAY);
    expect(await expiry("lost")).toBe(START + 5 + DAY);
    expect(await expiry("rejected")).toBeNull();
    expect(await expiry("storm of a sibling")).toBeNull();
    // No trigger wants storms any more.
    await add("next", a, ["rain"]);
    await confirm(store, "next", START + 6, { type: "rain", wanted: ["rain"] });
    for (const hash of ["rejected", "storm of a sibling", "rain"])
      expect(await expiry(hash)).toBe(START + 6 + DAY);
    expect(await expiry("next")).toBeNull();
  });

  it("of a replaced server expire after a day, or when the new server has confirmed one", async ({
    store,
  }) => {
    const { a } = await subscribe(store);
    const expiry = async (hash: string) => (await store.findCallbackToken(hash, START))?.expires_at;
    await stage(store, "former", a, "connection");
    await confirm(store, "former");
    await stage(store, "late", a, "connection");
    const target = { url: "https://new.example/mcp" };
    await store.updateConnection("acme", ID, { target }, START);
    expect(await expiry("former")).toBe(START + DAY);
    // The former server confirms a token after the change.
    await confirm(store, "late");
    expect(await expiry("late")).toBe(START + DAY);
    const token = {
      hash: "new",
      tenant: "acme",
      connection: ID,
      subscription: a,
      generation: 0,
      at: START,
    };
    await store.stageCallbackToken({ ...token, scope: "connection", target, types: ["storm"] });
    expect(await expiry("former")).toBe(START + DAY);
    await confirm(store, "new");
    expect(await expiry("former")).toBeUndefined();
    expect(await expiry("late")).toBeUndefined();
    expect(await expiry("new")).toBeNull();
  });

  it("stay the same when they are staged again", async ({ store, sql }) => {
    const { a } = await subscribe(store);
    const rows = () => sql("SELECT hash, types, scope, expires_at FROM callback_tokens");
    await stage(store, "one", a);
    await confirm(store, "one");
    const confirmed = await rows();
    await stage(store, "one", a);
    await confirm(store, "one");
    expect(await rows()).toEqual(confirmed);
    // The server has rejected the token, and gets it again.
    await reject(store, "one", START);
    expect(await store.findCallbackToken("one", START)).toMatchObject({ expires_at: START + DAY });
    await stage(store, "one", a, "subscription", START + 2 * DAY);
    expect(await store.findCallbackToken("one", START + 2 * DAY)).toMatchObject({
      expires_at: null,
    });
  });

  it("staged again for other types stay valid for the types that the server may use", async ({
    store,
    sql,
  }) => {
    const { a, b } = await subscribe(store);
    const typesOf = async (hash: string) => {
      const rows = await sql("SELECT hash, types FROM callback_tokens");
      return JSON.parse(String(rows.find((row) => row.hash === hash)?.types)) as unknown;
    };
    await stage(store, "shared", a, "connection", START, ["storm"]);
    await confirm(store, "shared");
    await stage(store, "shared", a, "connection", START, ["rain"]);
    expect(await typesOf("shared")).toEqual({ storm: true, rain: false });
    await stage(store, "own", b, "subscription", START, ["storm"]);
    await confirm(store, "own");
    await stage(store, "own", b, "subscription", START, ["rain"]);
    expect(await typesOf("own")).toEqual({ rain: false });
  });

  it("are replaced by a rotation, and stay valid until the server has the new one", async ({
    store,
  }) => {
    const { a, b } = await subscribe(store);
    for (const [hash, subscription] of Object.entries({ "a 0": a, "b 0": b })) {
      await stage(store, hash, subscription);
      await confirm(store, hash);
    }
    const rotation = { revokeNow: false, at: START };
    expect(await store.rotateCallbackToken("acme", ID, a, rotation)).toBe(true);
    const generations = await store.listTriggerSubscriptions("acme", ID);
    expect(new Map(generations.map((each) => [each.id, each.token_generation]))).toEqual(
      new Map([
        [a, 1],
        [b, 0],
      ]),
    );
    expect(await store.findCallbackToken("a 0", START)).toMatchObject({ expires_at: null });
  });

  it("are invalid immediately after a revocation, even if a call is in progress", async (subject) => {
    const { store } = subject;
    const { a, b } = await subscribe(store);
    for (const [hash, subscription] of Object.entries({ "a 0": a, "b 0": b })) {
      await stage(store, hash, subscription);
      await confirm(store, hash);
    }
    await store.rotateCallbackToken("acme", ID, a, { revokeNow: true, at: START + 1 });
    // The notice clears the caches of tokens.
    const sent = await allNotices(subject);
    expect(sent).toContainEqual({ topic: "connections", due: START + 1 });
    // A keeper that has read the subscription before the rotation sends the former token.
    await confirm(store, "a 0");
    await stage(store, "a 0", a);
    await confirm(store, "a 0");
    expect(await store.findCallbackToken("a 0", START)).toBeUndefined();
    expect(await store.findCallbackToken("b 0", START)).toMatchObject({ expires_at: null });
    await stage(store, "a 1", a, "subscription", START, ["storm"], 1);
    expect(await store.findCallbackToken("a 1", START)).toMatchObject({ expires_at: null });
  });

  it("that the triggers of a connection share are rotated and revoked together", async ({
    store,
  }) => {
    const { a, b } = await subscribe(store);
    await stage(store, "a 0", a, "connection");
    await confirm(store, "a 0");
    await store.rotateCallbackToken("acme", ID, b, { revokeNow: true, at: START });
    expect(await store.findCallbackToken("a 0", START)).toBeUndefined();
    expect(await store.listTriggerSubscriptions("acme", ID)).toMatchObject([
      { token_generation: 1, state: "configuring" },
      { token_generation: 1, state: "configuring" },
    ]);
  });

  it("are gone with their subscription, or, for a whole connection, with its last active subscription", async ({
    store,
  }) => {
    const { flow, a, b } = await subscribe(store);
    await stage(store, "own a", a);
    await stage(store, "own b", b);
    await stage(store, "all a", a, "connection");
    await stage(store, "all b", b, "connection");
    const areGone = async () => {
      const results: boolean[] = [];
      for (const hash of ["own a", "own b", "all a", "all b"])
        results.push((await store.findCallbackToken(hash, START))?.isGone ?? true);
      return results;
    };
    const publish = (triggers: Parameters<typeof republish>[2]) => republish(store, flow, triggers);
    expect(await areGone()).toEqual([false, false, false, false]);
    await publish([{ node_id: "a" }, { node_id: "b", active: false }]);
    expect(await areGone()).toEqual([false, true, false, false]);
    await publish([{ node_id: "a" }]);
    expect(await areGone()).toEqual([false, true, false, false]);
    await publish([{ node_id: "a", active: false }]);
    expect(await areGone()).toEqual([true, true, true, true]);
    await publish([{ node_id: "a" }, { node_id: "b" }]);
    expect(await areGone()).toEqual([false, false, false, false]);
    await store.deleteConnection("acme", ID, START);
    expect(await areGone()).toEqual([true, true, true, true]);
  });

  it("of a removed subscription expire after a week, and are then deleted", async ({
    store,
    sql,
  }) => {
    const { flow, a, b } = await subscribe(store);
    await stage(store, "own a", a);
    await stage(store, "all a", a, "connection");
    await stage(store, "former", a);
    await reject(store, "former", START - DAY + 1);
    await republish(store, flow, [{ node_id: "b" }]);
    await leaseOne(store);
    const result = { id: ID, revision: 1, next_at: START };
    await store.finishConnection(
      "keeper",
      result,
      [{ id: a, revision: 2, isRemoved: true }],
      START,
    );
    const week = START + 7 * DAY;
    const find = (hash: string, now = week - 1) => store.findCallbackToken(hash, now);
    expect(await find("own a")).toMatchObject({ expires_at: week, isGone: true });
    // A server with one credential per connection may still use this token for the events of "b".
    expect(await find("all a")).toMatchObject({ expires_at: week, isGone: false });
    expect(await find("own a", week)).toBeUndefined();
    expect(await find("former", START)).toMatchObject({ expires_at: START + 1 });
    await stage(store, "new", b, "subscription", week);
    expect(await sql("SELECT hash FROM callback_tokens")).toEqual([{ hash: "new" }]);
  });
}
