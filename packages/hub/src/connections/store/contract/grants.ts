import { expect } from "vitest";
import { START } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import { connectionLease, leaseOne, sampleConnection } from "./connection-sample.ts";

const ID = "weather-7kq2xv";
const pendingAuthorization = (overrides = {}) => ({
  state: "hash",
  by: "session",
  sealed: "verifier",
  expires_at: START + 600,
  ...overrides,
});
const take = (store: Store, overrides = {}, tenant = "acme") =>
  store.takeAuthorization(tenant, ID, { state: "hash", by: "session", now: START, ...overrides });
const lease = (store: Store, overrides = {}) =>
  store.leaseGrant("acme", ID, {
    by: "a",
    version: 1,
    now: START,
    until: START + 30,
    ...overrides,
  });
const save = (store: Store, overrides = {}, tenant = "acme") =>
  store.saveGrant(tenant, ID, { sealed: "tokens", error: null, ...overrides }, START);

export function grantsContract(it: It): void {
  it("are stored for a connection of the tenant, and removed with it", async ({
    store,
    reopen,
  }) => {
    expect(await save(store)).toBe(false);
    expect(await store.beginAuthorization("acme", ID, pendingAuthorization())).toBe(false);
    await store.createConnection(sampleConnection(), START);
    expect(await store.getGrant("acme", ID)).toBeUndefined();
    expect(await save(store, {}, "umbrella")).toBe(false);
    expect(await save(store)).toBe(true);
    const reopened = await reopen();
    const grant = { sealed: "tokens", error: null, version: 1 };
    expect(await reopened.getGrant("acme", ID)).toEqual(grant);
    expect(await reopened.getGrant("umbrella", ID)).toBeUndefined();
    await reopened.deleteConnection("acme", ID, START);
    expect(await reopened.getGrant("acme", ID)).toBeUndefined();
  });

  it("are completed once, before the authorization expires, by the session that began it", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    await store.beginAuthorization(
      "acme",
      ID,
      pendingAuthorization({ state: "former", sealed: "former" }),
    );
    await store.beginAuthorization("acme", ID, pendingAuthorization());
    expect(await take(store, { state: "former" })).toBeUndefined();
    expect(await take(store, { by: "another" })).toBeUndefined();
    expect(await take(store, { now: START + 600 })).toBeUndefined();
    expect(await take(store, {}, "umbrella")).toBeUndefined();
    const results = await Promise.all([take(store), take(store), take(store)]);
    expect(results.filter((sealed) => sealed !== undefined)).toEqual(["verifier"]);
  });

  it("are refreshed by one process at a time, and do not overwrite a change of another process", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    await save(store);
    const leased = await Promise.all(["a", "b", "c"].map((by) => lease(store, { by })));
    expect(leased.filter(Boolean)).toHaveLength(1);
    expect(await lease(store, { by: "late", now: START + 30, until: START + 60 })).toBe(true);
    expect(await save(store, { sealed: "refreshed", ifVersion: 1 })).toBe(true);
    expect(await save(store, { sealed: "late", ifVersion: 1 })).toBe(false);
    expect(await lease(store)).toBe(false);
    expect(await store.getGrant("acme", ID)).toMatchObject({ sealed: "refreshed", version: 2 });
    expect(await lease(store, { version: 2 })).toBe(true);
  });

  it("make the connection due when they begin or end, not when they are refreshed", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    const isDue = async () => {
      const due = (await store.nextConnectionDue()) === START;
      if (!due) return false;
      const { connection } = await leaseOne(store, connectionLease());
      const result = { id: ID, revision: connection.revision, next_at: START + 300 };
      return store.finishConnection("keeper", result, [], START);
    };
    expect(await isDue()).toBe(true);
    await save(store);
    expect(await isDue()).toBe(true);
    await save(store, { sealed: "refreshed", ifVersion: 1 });
    expect(await isDue()).toBe(false);
    await save(store, { sealed: null, error: "invalid_grant\0", ifVersion: 2 });
    expect(await isDue()).toBe(true);
    const ended = { sealed: null, error: "invalid_grant", version: 3 };
    expect(await store.getGrant("acme", ID)).toEqual(ended);
  });
}
