import { expect } from "vitest";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { WorkerClaim } from "../../model.ts";
import { appendEvents, ids, START, sampleEvent, sampleEvents } from "./sample.ts";

const LEASE = 60;
const claim = (store: Store, id: string, overrides: Partial<WorkerClaim> = {}) => {
  const now = overrides.now ?? START;
  return store.claimEvent({ tenant: "acme", id, by: "one", now, until: now + LEASE, ...overrides });
};

/** Appends one event, and returns its id. */
async function appendOne(store: Store): Promise<string> {
  const event = sampleEvent();
  await appendEvents(store, [event]);
  return event.id;
}

const listClaimable = async (store: Store, claimableAt: number) =>
  ids((await store.listEvents({ tenant: "acme", limit: 10, pending: true, claimableAt })).items);

export function workerClaimsContract(it: It): void {
  it("give one event to one of many workers, and count one attempt", async ({ store }) => {
    const id = await appendOne(store);
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => claim(store, id, { by: `worker-${index}` })),
    );
    const [won, ...more] = results.filter((result) => result?.applied);
    expect(more).toEqual([]);
    expect(won?.event).toMatchObject({ id, attempts: 1, claimed_until: START + LEASE });
    for (const lost of results.filter((result) => !result?.applied))
      expect(lost?.event.claimed_by).toBe(won?.event.claimed_by);
    expect(await store.getEvent("acme", id)).toEqual(won?.event);
  });

  it("are renewed by the same worker without another attempt, even after they have expired", async ({
    store,
  }) => {
    const id = await appendOne(store);
    await claim(store, id);
    for (const now of [START + 1, START + 5 * LEASE])
      expect(await claim(store, id, { now })).toMatchObject({
        applied: true,
        event: { attempts: 1, claimed_until: now + LEASE },
      });
  });

  it("pass to another worker after the lease has expired, and count another attempt", async ({
    store,
    reopen,
  }) => {
    const id = await appendOne(store);
    await claim(store, id);
    expect(await claim(store, id, { by: "two", now: START + LEASE - 1 })).toMatchObject({
      applied: false,
      event: { claimed_by: "one", claimed_until: START + LEASE },
    });
    const reopened = await reopen();
    expect(await claim(reopened, id, { by: "two", now: START + LEASE })).toMatchObject({
      applied: true,
      event: { claimed_by: "two", attempts: 2 },
    });
    expect(await claim(reopened, id, { by: "one", now: START + LEASE })).toMatchObject({
      applied: false,
    });
  });

  it("prevent claims of agents, and are prevented by them", async ({ store }) => {
    const [first, second] = sampleEvents(2);
    await appendEvents(store, [first, second]);
    const agent = { tenant: "acme", by: "agent", now: START, until: START + LEASE };
    expect(ids(await store.claimEvents({ ...agent, limit: 1 }))).toEqual([first.id]);
    expect(await claim(store, first.id)).toMatchObject({ applied: false, event: { attempts: 0 } });
    expect(await claim(store, second.id)).toMatchObject({ applied: true });
    expect(await store.claimEvents({ ...agent, limit: 5 })).toEqual([]);
  });

  it("fail for events that are processed, unknown or of another tenant", async ({ store }) => {
    const id = await appendOne(store);
    expect(await claim(store, id, { tenant: "umbrella" })).toBeUndefined();
    expect(await claim(store, "nonsense")).toBeUndefined();
    await claim(store, id);
    await store.markProcessed("acme", [id], START, "done");
    for (const by of ["one", "two"])
      expect(await claim(store, id, { by, now: START + 2 * LEASE })).toMatchObject({
        applied: false,
        event: { processed: true, note: "done" },
      });
  });

  it("can be released with a delay, during which the event cannot be claimed", async ({
    store,
  }) => {
    const id = await appendOne(store);
    await claim(store, id);
    const notBefore = START + 500;
    expect(await store.releaseEvents("acme", [id], "one", { notBefore })).toEqual([id]);
    expect(await store.getEvent("acme", id)).toMatchObject({
      claimed_by: null,
      claimed_until: notBefore,
      attempts: 1,
    });
    const early = { by: "one", now: notBefore - 1 };
    expect(await claim(store, id, early)).toMatchObject({ applied: false });
    const agent = { tenant: "acme", by: "agent", limit: 1, until: START + 9_000 };
    expect(await store.claimEvents({ ...agent, now: notBefore - 1 })).toEqual([]);
    expect(await listClaimable(store, notBefore - 1)).toEqual([]);
    expect(await listClaimable(store, notBefore)).toEqual([id]);
    expect(await claim(store, id, { by: "two", now: notBefore })).toMatchObject({
      applied: true,
      event: { attempts: 2 },
    });
  });

  it("can be released without counting as an attempt, and the count never falls below 0", async ({
    store,
  }) => {
    const id = await appendOne(store);
    await claim(store, id);
    await store.releaseEvents("acme", [id], "one", { uncounted: true });
    expect(await store.getEvent("acme", id)).toMatchObject({ attempts: 0, claimed_until: null });
    const agent = { tenant: "acme", by: "agent", limit: 1, now: START, until: START + LEASE };
    await store.claimEvents(agent);
    await store.releaseEvents("acme", [id], "agent", { uncounted: true });
    expect(await store.getEvent("acme", id)).toMatchObject({ attempts: 0 });
  });

  it("allow their worker to mark the event as processed, even after the lease has expired", async ({
    store,
  }) => {
    const id = await appendOne(store);
    const mark = (by: string, note: string) =>
      store.markClaimedProcessed("acme", id, by, START + 5 * LEASE, note);
    expect(await store.markClaimedProcessed("umbrella", id, "one", START, null)).toBeUndefined();
    expect(await mark("one", "unclaimed")).toMatchObject({ applied: false });
    await claim(store, id);
    expect(await mark("two", "stranger")).toMatchObject({
      applied: false,
      event: { processed: false, note: null },
    });
    expect(await mark("one", "finished")).toMatchObject({
      applied: true,
      event: { processed: true, note: "finished", claimed_until: null },
    });
    expect(await mark("one", "again")).toMatchObject({
      applied: false,
      event: { note: "finished" },
    });
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 0 });
    expect(await store.getTenant("acme")).toMatchObject({ pending: 0 });
  });

  it("are lost when another worker has claimed the event", async ({ store }) => {
    const id = await appendOne(store);
    await claim(store, id);
    await claim(store, id, { by: "two", now: START + LEASE });
    expect(
      await store.markClaimedProcessed("acme", id, "one", START + LEASE, "late"),
    ).toMatchObject({
      applied: false,
      event: { processed: false, claimed_by: "two" },
    });
    expect(await store.releaseEvents("acme", [id], "one")).toEqual([]);
  });

  it("hide events from the list of claimable events, however many are claimed", async ({
    store,
  }) => {
    const events = sampleEvents(30);
    await appendEvents(store, events);
    for (const { id } of events.slice(0, 25)) await claim(store, id);
    const oldest = { tenant: "acme", limit: 3, order: "oldest" as const, pending: true };
    const page = await store.listEvents({ ...oldest, claimableAt: START });
    expect(ids(page.items)).toEqual(ids(events.slice(25, 28)));
    const nextPage = await store.listEvents({
      ...oldest,
      claimableAt: START,
      cursor: page.next ?? undefined,
    });
    expect(ids(nextPage.items)).toEqual(ids(events.slice(28)));
    const all = await store.listEvents({ ...oldest, claimableAt: START + LEASE });
    expect(ids(all.items)).toEqual(ids(events.slice(0, 3)));
  });
}
