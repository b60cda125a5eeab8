import { expect } from "vitest";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { Claim } from "../../model.ts";
import { appendEvents, ids, itemAt, newRow, START, sampleEvent, sampleEvents } from "./sample.ts";

const LEASE = 60;
const claim = (store: Store, overrides: Partial<Claim> = {}) => {
  const now = overrides.now ?? START;
  return store.claimEvents({
    tenant: "acme",
    by: "ada",
    limit: 10,
    now,
    until: now + LEASE,
    ...overrides,
  });
};

export function claimContract(it: It): void {
  it("leases the oldest events to one agent", async ({ store }) => {
    const events = sampleEvents(3);
    await appendEvents(store, events);
    const leased = events.map((event, index) => ({
      ...newRow(event, index + 1),
      claimed_by: "ada",
      claimed_until: START + LEASE,
    }));
    expect(await claim(store, { limit: 2 })).toEqual(leased.slice(0, 2));
    expect(await store.getEvent("acme", itemAt(events, 0).id)).toEqual(leased[0]);
    expect(await claim(store, { limit: 2 })).toEqual(leased.slice(2));
    expect(await claim(store, { limit: 2 })).toEqual([]);
    // A leased event is still pending, since its lease can expire.
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 3 });
  });

  it("leases no event to two agents at the same time", async ({ store }) => {
    const events = sampleEvents(60);
    await appendEvents(store, events);
    const claimed = await Promise.all(
      Array.from({ length: 25 }, async (_, index) =>
        claim(store, { by: `agent-${index}`, limit: 3 }),
      ),
    );
    const all = ids(claimed.flat());
    expect(new Set(all).size).toBe(all.length);
    // A concurrent claim skips locked events; the next claim gets them.
    const remaining = await claim(store, { limit: 100 });
    expect([...all, ...ids(remaining)].sort()).toEqual(ids(events).sort());
  });

  it("leases an event to another agent only after its lease has expired", async ({ store }) => {
    const [first, second] = sampleEvents(2);
    await appendEvents(store, [first, second]);
    await claim(store, { by: "ada", limit: 1 });
    expect(ids(await claim(store, { by: "bob", now: START + LEASE - 1, limit: 1 }))).toEqual([
      second.id,
    ]);
    expect(await claim(store, { by: "cy", now: START + LEASE - 1 })).toEqual([]);
    expect(await claim(store, { by: "cy", now: START + LEASE, limit: 1 })).toMatchObject([
      { id: first.id, claimed_by: "cy", claimed_until: START + 2 * LEASE },
    ]);
    expect(await store.releaseEvents("acme", [first.id], "ada")).toEqual([]);
  });

  it("prefers the events whose leases expired first, then the oldest", async ({ store }) => {
    const events = sampleEvents(6);
    await appendEvents(store, events);
    await claim(store, { limit: 1, until: START + 50 });
    await claim(store, { limit: 1, until: START + 20 });
    await claim(store, { limit: 1, until: START + 90 });
    const now = START + 50;
    expect(ids(await claim(store, { now, limit: 1 }))).toEqual([itemAt(events, 1).id]);
    expect(ids(await claim(store, { now, limit: 3 }))).toEqual(
      ids([itemAt(events, 0), itemAt(events, 3), itemAt(events, 4)]),
    );
    expect(ids(await claim(store, { now }))).toEqual([itemAt(events, 5).id]);
  });

  it("never leases a processed event, even if it was leased before", async ({ store }) => {
    const [leased, free, pending] = sampleEvents(3);
    await appendEvents(store, [leased, free, pending]);
    await claim(store, { limit: 1 });
    await store.markProcessed("acme", [leased.id, free.id], START, null);
    expect(ids(await claim(store, { now: START + 10 * LEASE }))).toEqual([pending.id]);
  });

  it("leases only events of the requested type", async ({ store }) => {
    const events = sampleEvents(6, (index) => ({ type: index % 2 ? "push" : "issues" }));
    await appendEvents(store, events);
    expect(ids(await claim(store, { type: "push", limit: 2 }))).toEqual(
      ids([itemAt(events, 1), itemAt(events, 3)]),
    );
    expect(ids(await claim(store, { type: "issues", limit: 1 }))).toEqual([itemAt(events, 0).id]);
    expect(await claim(store, { type: "star" })).toEqual([]);
    const now = START + LEASE;
    expect(ids(await claim(store, { type: "push", now }))).toEqual(
      ids([itemAt(events, 1), itemAt(events, 3), itemAt(events, 5)]),
    );
  });

  it("leases no events of another tenant", async ({ store }) => {
    await appendEvents(store, sampleEvents(2), "umbrella");
    expect(await claim(store)).toEqual([]);
    expect(await claim(store, { tenant: "umbrella" })).toHaveLength(2);
  });

  it("releases only pending events that the caller has leased", async ({ store }) => {
    const [leased, alsoLeased, done, free] = sampleEvents(4);
    await appendEvents(store, [leased, alsoLeased, done, free]);
    await claim(store, { limit: 3 });
    await store.markProcessed("acme", [done.id], START, null);
    const all = [leased.id, done.id, free.id, "nonsense"];
    expect(await store.releaseEvents("acme", all, "bob")).toEqual([]);
    expect(await store.releaseEvents("umbrella", all, "ada")).toEqual([]);
    expect(await store.releaseEvents("acme", [], "ada")).toEqual([]);
    expect(await store.releaseEvents("acme", all, "ada")).toEqual([leased.id]);
    expect(await store.releaseEvents("acme", all, "ada")).toEqual([]);
    expect(await store.getEvent("acme", leased.id)).toMatchObject({
      claimed_by: null,
      claimed_until: null,
    });
    expect(ids(await claim(store, { by: "bob" }))).toEqual(ids([leased, free]));
  });

  it("releases hundreds of events, and returns their ids in the given order", async ({ store }) => {
    const events = sampleEvents(250);
    await appendEvents(store, events);
    await claim(store, { limit: 250 });
    const all = ids(events.toReversed());
    expect(await store.releaseEvents("acme", all, "ada")).toEqual(all);
    expect(await claim(store, { by: "bob", limit: 500 })).toHaveLength(250);
  });

  it("keeps leases after a restart", async ({ store, reopen }) => {
    await appendEvents(store, [sampleEvent()]);
    await claim(store);
    const reopened = await reopen();
    expect(await claim(reopened, { by: "bob" })).toEqual([]);
    expect(await claim(reopened, { by: "bob", now: START + LEASE })).toHaveLength(1);
  });
}
