import { expect, vi } from "vitest";
import { START } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import {
  connectionLease,
  createdConnection,
  leaseOne,
  publishTriggers,
  sampleConnection,
  sampleOffers,
} from "./connection-sample.ts";

const ID = "weather-7kq2xv";
const finish = (store: Store, overrides = {}, by = "keeper", now = START) =>
  store.finishConnection(by, { id: ID, revision: 1, next_at: START + 300, ...overrides }, [], now);
const leasedIds = async (store: Store, overrides = {}) =>
  (await store.leaseConnections(connectionLease(overrides))).map(({ connection }) => connection.id);

export function connectionsContract(it: It): void {
  it("are stored with their sealed credentials, and found by their tenant only", async ({
    store,
    reopen,
  }) => {
    const command = { target: { command: "node", args: ["server.js"] }, sealed: null };
    expect(await store.createConnection(sampleConnection(), START)).toBe(true);
    expect(await store.createConnection(sampleConnection(), START)).toBe(false);
    expect(await store.createConnection(sampleConnection({ tenant: "umbrella" }), START)).toBe(
      false,
    );
    await store.createConnection(sampleConnection({ id: "local-aaaaaa", ...command }), START);
    await store.createConnection(
      sampleConnection({ id: "theirs-bbbbbb", tenant: "umbrella" }),
      START,
    );
    const reopened = await reopen();
    expect(await reopened.getConnection("acme", ID)).toEqual(createdConnection());
    expect(await reopened.getConnection("umbrella", ID)).toBeUndefined();
    expect(await reopened.listConnections("acme", "", 10)).toEqual([
      createdConnection({ id: "local-aaaaaa", ...command }),
      createdConnection(),
    ]);
    expect(await reopened.listConnections("acme", "local-aaaaaa", 10)).toEqual([
      createdConnection(),
    ]);
    expect(await reopened.listConnections("acme", "", 1)).toHaveLength(1);
    expect(await reopened.getOffers("acme", ID)).toBeUndefined();
  });

  it("change only in the given fields, and are due as a new revision if target or credentials change", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    await leaseOne(store);
    await finish(store, { status: "failed", error: "401", attempt: 3, checked_at: START });
    const renamed = await store.updateConnection("acme", ID, { name: "Rain" }, START + 1);
    expect(renamed).toMatchObject({ name: "Rain", revision: 1, status: "failed", attempt: 3 });
    expect(await store.nextConnectionDue()).toBe(START + 300);
    const change = { sealed: "other", credentials: { auth: "oauth" } };
    expect(await store.updateConnection("acme", ID, change, START + 2)).toEqual({
      ...createdConnection({ name: "Rain", ...change }),
      revision: 2,
      checked_at: START,
      next_at: START + 2,
      updated_at: START + 2,
    });
    expect(await store.nextConnectionDue()).toBe(START + 2);
    const moved = { target: { url: "https://other.example/mcp" } };
    expect(await store.updateConnection("acme", ID, moved, START)).toMatchObject({ revision: 3 });
    expect(await store.updateConnection("acme", ID, moved, START)).toMatchObject({ revision: 3 });
    expect(await store.updateConnection("umbrella", ID, moved, START)).toBeUndefined();
    const late = { name: "Late", ifRevision: 2 };
    expect(await store.updateConnection("acme", ID, late, START)).toBe("changed");
    expect(await store.getConnection("acme", ID)).toMatchObject({ name: "Rain", revision: 3 });
    expect(
      await store.updateConnection("acme", ID, { ...late, ifRevision: 3 }, START),
    ).toMatchObject({ name: "Late" });
  });

  it("keep replaced servers that have subscriptions, until these servers are dropped", async ({
    store,
  }) => {
    const [first, second, third] = ["one", "two", "three"].map((name) => ({
      target: { url: `https://${name}.example/mcp` },
      sealed: `of ${name}`,
    }));
    await store.createConnection(sampleConnection(first), START);
    await store.updateConnection("acme", ID, second ?? {}, START);
    expect(await leaseOne(store)).toMatchObject({ former: [] });
    await publishTriggers(store, [{ node_id: "a" }]);
    await store.updateConnection("acme", ID, { sealed: "rotated" }, START);
    await store.updateConnection("acme", ID, third ?? {}, START);
    await store.updateConnection("acme", ID, first ?? {}, START);
    await finish(store, {});
    const former = [
      { ...second, sealed: "rotated", revision: 3 },
      { ...third, revision: 4 },
    ];
    expect(await leaseOne(store)).toMatchObject({ former, connection: { revision: 5 } });
    expect(await store.dropFormerServers("another", ID, 4)).toBe(false);
    expect(await store.dropFormerServers("keeper", ID, 3)).toBe(true);
    await store.touchConnection("acme", ID, START);
    await finish(store, {});
    expect(await leaseOne(store)).toMatchObject({ former: former.slice(1) });
  });

  it("are leased when they are due, by one process at a time, until the lease expires", async ({
    store,
    reopen,
  }) => {
    await store.createConnection(sampleConnection(), START);
    expect(await leasedIds(store, { now: START - 1 })).toEqual([]);
    expect(await leaseOne(store)).toEqual({
      connection: createdConnection(),
      offers: null,
      subscriptions: [],
      former: [],
    });
    const second = await reopen();
    expect(await leasedIds(second, { by: "other", now: START + 59 })).toEqual([]);
    expect(await second.nextConnectionDue()).toBe(START + 60);
    const renew = (by: string, now: number) =>
      second.renewConnections({ by, now, until: START + 100 }, [ID, "none"]);
    expect(await renew("other", START)).toEqual([]);
    expect(await renew("keeper", START + 60)).toEqual([]);
    expect(await renew("keeper", START + 59)).toEqual([ID]);
    expect(await leasedIds(second, { by: "other", now: START + 99 })).toEqual([]);
    expect(await leasedIds(second, { by: "other", now: START + 100, until: START + 200 })).toEqual([
      ID,
    ]);
    expect(await finish(store)).toBe(false);
    expect(await store.saveSubscriptions("keeper", ID, [], START)).toBe(false);
    expect(await finish(store, {}, "other")).toBe(true);
    expect(await finish(store, {}, "other")).toBe(false);
    expect(await store.nextConnectionDue()).toBe(START + 300);
  });

  it("are leased by many processes without overlap, and the longest due ones first", async ({
    store,
    reopen,
  }) => {
    const ids = Array.from({ length: 40 }, (_, index) => `c-${String(index).padStart(2, "0")}`);
    for (const [index, id] of ids.entries())
      await store.createConnection(sampleConnection({ id }), START - index);
    expect(await leasedIds(store, { limit: 2, by: "first" })).toEqual(
      expect.arrayContaining(["c-39", "c-38"]),
    );
    const stores = [store, await reopen()];
    const leased = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        leasedIds(stores[index % 2] as Store, { by: `keeper ${index}`, limit: 10 }),
      ),
    );
    expect(new Set(leased.flat()).size).toBe(leased.flat().length);
    const remaining = await leasedIds(store, { by: "last", limit: 40 });
    expect([...leased.flat(), ...remaining].sort()).toEqual(ids.slice(0, 38));
  });

  it("record the result of a check, with offers of any size and any error", async ({ store }) => {
    await store.createConnection(sampleConnection(), START);
    await leaseOne(store);
    const big = sampleOffers({
      tools: [{ name: "big", description: "ü𝄞".repeat(500_000), inputSchema: {} }],
    });
    const result = { status: "ok", error: null, checked_at: START + 1, attempt: 0 };
    expect(await finish(store, { ...result, offers: big })).toBe(true);
    expect(await store.getConnection("acme", ID)).toEqual({
      ...createdConnection(),
      ...result,
      tool_count: 1,
      trigger_count: 2,
      next_at: START + 300,
    });
    expect(await store.getOffers("acme", ID)).toEqual(big);
    expect(await store.getOffers("umbrella", ID)).toBeUndefined();
    expect((await leaseOne(store, { now: START + 300 })).offers).toEqual(big);
    await finish(store, { status: "failed", error: "no\0 answer", attempt: 1 });
    expect(await store.getConnection("acme", ID)).toMatchObject({
      status: "failed",
      error: "no answer",
      attempt: 1,
      checked_at: START + 1,
      tool_count: 1,
    });
    expect(await store.getOffers("acme", ID)).toEqual(big);
    await leaseOne(store, { now: START + 300 });
    await finish(store, { status: "ok", offers: sampleOffers() });
    expect(await store.getOffers("acme", ID)).toEqual(sampleOffers());
  });

  it("are due again if they change during a lease, and do not record an outdated check", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    await leaseOne(store);
    await store.touchConnection("acme", ID, START + 9);
    await store.touchConnection("acme", ID, START + 11);
    await store.touchConnection("umbrella", ID, START);
    expect(await store.nextConnectionDue()).toBe(START + 60);
    await finish(store, { status: "ok" });
    expect(await store.getConnection("acme", ID)).toMatchObject({
      status: "ok",
      next_at: START + 9,
    });
    await leaseOne(store, { now: START + 9 });
    await finish(store);
    expect(await store.nextConnectionDue()).toBe(START + 300);

    await leaseOne(store, { now: START + 300 });
    await store.updateConnection("acme", ID, { sealed: "other" }, START + 310);
    expect(
      await finish(store, { status: "ok", offers: sampleOffers(), next_at: START + 900 }),
    ).toBe(true);
    expect(await store.getConnection("acme", ID)).toMatchObject({
      status: "unknown",
      tool_count: 0,
      next_at: START + 310,
    });
    expect(await store.nextConnectionDue()).toBe(START + 310);
  });

  it("pause after a lease in which they were touched, unless a subscription has changed", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    await leaseOne(store);
    await store.touchConnection("acme", ID, START + 9);
    await finish(store, { pause_until: START + 20 });
    expect(await store.nextConnectionDue()).toBe(START + 20);

    await leaseOne(store, { now: START + 20 });
    await publishTriggers(store, [{}]);
    const [{ next_at = 0 } = {}] = await store.listTriggerSubscriptions("acme", ID);
    await finish(store, { pause_until: START + 90 });
    expect(await store.nextConnectionDue()).toBe(next_at);
    expect(next_at).toBeLessThan(START + 90);
  });

  it("are released to other processes", async ({ store }) => {
    await store.createConnection(sampleConnection(), START);
    await leaseOne(store);
    await store.releaseConnections("other");
    expect(await leasedIds(store, { by: "other" })).toEqual([]);
    await store.releaseConnections("keeper");
    expect(await store.nextConnectionDue()).toBe(START);
    expect(await leasedIds(store, { by: "other" })).toEqual([ID]);
  });

  it("are deleted immediately, or after their subscriptions if they have any", async ({
    store,
    sql,
  }) => {
    await store.createConnection(sampleConnection({ id: "unused-cccccc" }), START);
    await leaseOne(store);
    expect(await store.deleteConnection("umbrella", "unused-cccccc", START)).toBe(false);
    expect(await store.deleteConnection("acme", "unused-cccccc", START)).toBe(true);
    expect(await finish(store, { id: "unused-cccccc", offers: sampleOffers() })).toBe(false);
    expect(await store.nextConnectionDue()).toBeNull();

    await store.createConnection(sampleConnection(), START);
    await publishTriggers(store, [{}]);
    await leaseOne(store);
    await finish(store, { offers: sampleOffers() });
    expect(await store.deleteConnection("acme", ID, START + 1)).toBe(true);
    expect(await store.deleteConnection("acme", ID, START + 1)).toBe(false);
    expect(await store.getConnection("acme", ID)).toBeUndefined();
    expect(await store.listConnections("acme", "", 10)).toEqual([]);
    expect(await store.getOffers("acme", ID)).toBeUndefined();
    expect(await store.updateConnection("acme", ID, { name: "x" }, START)).toBeUndefined();
    expect(await store.createConnection(sampleConnection(), START)).toBe(false);
    const { connection, subscriptions } = await leaseOne(store, { now: START + 1 });
    expect(connection).toMatchObject({ deleted: true });
    expect(subscriptions).toMatchObject([{ wanted: "removed", revision: 2 }]);
    const [{ id = "", revision = 0 } = {}] = subscriptions;
    await store.finishConnection(
      "keeper",
      { id: ID, revision: 1, next_at: START + 2 },
      [{ id, revision, isRemoved: true }],
      START,
    );
    expect(await store.nextConnectionDue()).toBeNull();
    for (const table of ["connections", "connection_offers", "trigger_subscriptions"])
      expect(await sql(`SELECT * FROM ${table}`)).toEqual([]);
  });

  it("notify the keepers when they become due", async ({ store, notices }) => {
    await store.createConnection(sampleConnection(), START);
    await store.updateConnection("acme", ID, { name: "Rain" }, START + 1);
    await store.updateConnection("acme", ID, { sealed: "other" }, START + 2);
    await store.touchConnection("acme", ID, START + 3);
    await leaseOne(store);
    await store.touchConnection("acme", ID, START + 4);
    await finish(store, { revision: 2 });
    await leaseOne(store, { now: START + 4 });
    await store.releaseConnections("keeper");
    await store.deleteConnection("acme", ID, START + 6);
    await vi.waitFor(async () => {
      const due = (await notices()).flatMap((notice) =>
        notice.topic === "connections" ? notice.due : [],
      );
      expect(due.map((at) => at - START)).toEqual([0, 2, 3, 4, 4, 4, 6]);
    }, 60_000);
  });
}
