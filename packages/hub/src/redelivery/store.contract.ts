import { expect } from "vitest";
import { START, sampleEvent } from "../events/store/contract/sample.ts";
import type { It } from "../kernel/store/contract/subject.ts";
import type { Store } from "../store.ts";
import type { DeliveryAttempt } from "./model.ts";

const lease = { by: "a", now: START, until: START + 60 };
const progress = { read_until: START, cursor: null, newest_at: null };
const end = {
  now: START + 5,
  next_at: START + 300,
  paused_until: 0,
  is_complete: true,
  error: null,
  remove_before: 0,
};

const attempt = (overrides: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  id: "9007199254740993",
  guid: "one",
  at: START,
  is_ok: false,
  is_redelivery: false,
  status: "failed to connect to host",
  status_code: 0,
  event: "issues",
  action: "opened",
  installation: "7",
  ...overrides,
});
const succeeded = (overrides: Partial<DeliveryAttempt> = {}) =>
  attempt({ is_ok: true, is_redelivery: true, status: "OK", status_code: 200, ...overrides });

/** Requests and leases the first sweep. */
async function leaseFirstSweep(store: Store): Promise<Store> {
  await store.requestRedeliverySweep(START);
  expect(await store.leaseRedeliverySweep(lease)).toHaveProperty("leased.cursor", null);
  return store;
}
const record = (store: Store, ...attempts: DeliveryAttempt[]) =>
  store.recordAttempts(lease, attempts, progress);

export function redeliveryContract(it: It): void {
  it("are read from GitHub by one process at a time, when a sweep is due", async ({ store }) => {
    expect(await store.getRedeliverySweep()).toBeUndefined();
    await store.requestRedeliverySweep(START + 10);
    await store.requestRedeliverySweep(START + 20);
    expect(await store.leaseRedeliverySweep(lease)).toEqual({
      leased: undefined,
      due_at: START + 10,
    });
    await store.requestRedeliverySweep(START);
    const results = await Promise.all(
      ["a", "b", "c"].map((by) => store.leaseRedeliverySweep({ ...lease, by })),
    );
    expect(results.filter(({ leased }) => leased)).toHaveLength(1);
    expect(results.filter(({ leased }) => !leased)).toEqual([
      { leased: undefined, due_at: START + 60 },
      { leased: undefined, due_at: START + 60 },
    ]);
    // After the lease has expired, another process gets it, and the first one can change nothing.
    const later = { by: "d", now: START + 60, until: START + 120 };
    expect(await store.leaseRedeliverySweep(later)).toHaveProperty("leased.read_until", 0);
    expect(await record(store, attempt())).toBeUndefined();
    expect(await store.changeRedelivery(lease, "one", { requests: 1 })).toBe(false);
    expect(await store.finishRedeliverySweep("a", end)).toBe(false);
    expect(await store.finishRedeliverySweep("d", end)).toBe(true);
  });

  it("are not read before the end of GitHub's rate limit, even if a sweep is requested", async ({
    store,
  }) => {
    await leaseFirstSweep(store);
    await store.finishRedeliverySweep("a", {
      ...end,
      paused_until: START + 600,
      is_complete: false,
      error: "GitHub returned 403",
    });
    expect(await store.getRedeliverySweep()).toMatchObject({
      completed_at: null,
      error: "GitHub returned 403",
    });
    await store.requestRedeliverySweep(START + 10);
    const due = { leased: undefined, due_at: START + 600 };
    expect(await store.leaseRedeliverySweep({ ...lease, now: START + 599 })).toEqual(due);
    const next = { by: "a", now: START + 600, until: START + 700 };
    expect(await store.leaseRedeliverySweep(next)).toHaveProperty("leased.error");
    await store.finishRedeliverySweep("a", { ...end, now: START + 650 });
    expect(await store.getRedeliverySweep()).toMatchObject({
      completed_at: START + 650,
      error: null,
    });
  });

  it("are stored with the position of an interrupted sweep", async ({ store, reopen }) => {
    await leaseFirstSweep(store);
    const half = { read_until: START - 900, cursor: "v1_9", newest_at: START - 1 };
    await store.recordAttempts(lease, [attempt()], half);
    const reopened = await reopen();
    expect(
      await reopened.leaseRedeliverySweep({ by: "b", now: START + 60, until: START + 90 }),
    ).toHaveProperty("leased", expect.objectContaining(half));
    expect(await reopened.listRedeliveries("open", 10)).toHaveLength(1);
  });

  it("are open after a failed attempt, and delivered after a successful one", async ({ store }) => {
    await leaseFirstSweep(store);
    // The attempts are sorted from the newest to the oldest, as GitHub lists them.
    expect(
      await record(
        store,
        succeeded({ guid: "first try", is_redelivery: false }),
        attempt({ guid: "one", at: START + 2, id: "3", status_code: 503 }),
        attempt({ guid: "two", at: START + 1 }),
        attempt({ guid: "one", id: "1" }),
      ),
    ).toEqual({ failed: 2, delivered: 0 });
    expect(await store.dueRedeliveries(START + 2, 10)).toMatchObject([
      { guid: "one", attempt_id: "3", attempted_at: START + 2, failed_at: START, status_code: 503 },
      { guid: "two", attempt_id: "9007199254740993", status: "failed to connect to host" },
    ]);
    expect(await record(store, succeeded({ guid: "two", at: START + 3 }))).toEqual({
      failed: 0,
      delivered: 1,
    });
    expect(await store.countRedeliveries(10)).toEqual({ open: 1, given_up: 0, delivered: 1 });
  });

  it("stay delivered if the failed attempt is on a later page", async ({ store }) => {
    await leaseFirstSweep(store);
    await record(store, succeeded({ at: START + 9 }));
    expect(await record(store, attempt())).toEqual({ failed: 0, delivered: 0 });
    expect(await store.dueRedeliveries(START + 99, 10)).toEqual([]);
    expect(await store.listRedeliveries("delivered", 10)).toMatchObject([
      { guid: "one", failed_at: START, attempted_at: START + 9, status: "OK" },
    ]);
  });

  it("are due at the time that was set with their last request", async ({ store }) => {
    await leaseFirstSweep(store);
    await record(store, attempt({ guid: "two", at: START + 1 }), attempt());
    expect(await store.dueRedeliveries(START + 1, 1)).toMatchObject([{ guid: "one", requests: 0 }]);
    const requested = { requests: 1, requested_at: START + 2, next_at: START + 50 };
    expect(await store.changeRedelivery(lease, "one", requested)).toBe(true);
    // The failed attempt does not make the redelivery due earlier.
    await record(store, attempt({ at: START + 3, is_redelivery: true, id: "5" }));
    expect(await store.dueRedeliveries(START + 49, 10)).toMatchObject([{ guid: "two" }]);
    expect(await store.dueRedeliveries(START + 50, 10)).toMatchObject([
      { guid: "two" },
      { guid: "one", attempt_id: "5", ...requested },
    ]);
    await store.changeRedelivery(lease, "two", { state: "given_up", note: "too old\0" });
    expect(await store.listRedeliveries("given_up", 10)).toMatchObject([{ note: "too old" }]);
    // A later successful attempt counts, although the hub has given up.
    await record(store, succeeded({ guid: "two", at: START + 60 }));
    expect(await store.countRedeliveries(10)).toEqual({ open: 1, given_up: 0, delivered: 1 });
  });

  it("start again when they are retried, unless they were delivered or are too old", async ({
    store,
  }) => {
    await leaseFirstSweep(store);
    await record(
      store,
      succeeded({ guid: "three", at: START + 2 }),
      attempt({ guid: "two", at: START + 1 }),
      attempt(),
    );
    const requested = { requests: 5, requested_at: START + 2, next_at: START + 50 };
    await store.changeRedelivery(lease, "one", { ...requested, state: "given_up", note: "x" });
    await store.changeRedelivery(lease, "two", requested);
    await store.finishRedeliverySweep("a", end);
    for (const guid of ["one", "three", "four"])
      expect(await store.retryRedelivery(guid, START + 9, START), guid).toBeUndefined();
    const retried = { state: "open", requests: 0, next_at: START + 10, note: null };
    expect(await store.retryRedelivery("one", START + 10, START - 1)).toMatchObject(retried);
    expect(await store.retryRedelivery("two", START + 10, START)).toMatchObject(retried);
    expect(await store.dueRedeliveries(START + 10, 9)).toMatchObject([
      { guid: "one", requested_at: START + 2, ...retried },
      { guid: "two", ...retried },
    ]);
    const later = { by: "b", now: START + 10, until: START + 90 };
    expect(await store.leaseRedeliverySweep(later)).toHaveProperty("leased.error", null);
  });

  it("are counted up to a maximum, and removed when they are old", async ({ store }) => {
    await leaseFirstSweep(store);
    await record(
      store,
      ...["x", "y", "z"].map((guid, index) => attempt({ guid, at: START + index })),
    );
    expect(await store.countRedeliveries(2)).toMatchObject({ open: 2 });
    expect(await store.listRedeliveries("open", 2)).toMatchObject([{ guid: "z" }, { guid: "y" }]);
    await store.finishRedeliverySweep("a", { ...end, remove_before: START + 2 });
    expect(await store.listRedeliveries("open", 9)).toMatchObject([{ guid: "z" }]);
  });

  it("are not needed for delivery ids that an endpoint of the tenant has stored", async ({
    store,
  }) => {
    await store.putTenant({ id: "acme", at: START });
    const event = sampleEvent({ source_id: "github", external_id: "stored" });
    await store.appendEvents([{ tenant: "acme", events: [event] }], null);
    const find = (tenant: string, endpoints: string[]) =>
      store.findExternalIds(tenant, endpoints, ["stored", "missing", "another"]);
    expect(await find("acme", ["github"])).toEqual(["stored"]);
    expect(await find("acme", ["src_1", "github"])).toEqual(["stored"]);
    expect(await find("acme", ["src_1"])).toEqual([]);
    expect(await find("umbrella", ["github"])).toEqual([]);
  });
}
