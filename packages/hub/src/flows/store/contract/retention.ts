import { expect } from "vitest";
import type { Retention } from "../../../events/retention/model.ts";
import {
  allEvents,
  appendEvents,
  DAY,
  ids,
  itemAt,
  newRow,
  START,
  sampleEvent,
  sampleEvents,
} from "../../../events/store/contract/sample.ts";
import type { It, Subject } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import { claim, sampleRun, save } from "../../runs/store/contract/run-sample.ts";

const sweep = (store: Store, overrides: Partial<Retention> = {}) =>
  store.sweep({
    now: START,
    processedFor: 3 * DAY,
    pendingFor: 90 * DAY,
    maxBytes: 1e12,
    limit: 1_000,
    ...overrides,
  });

const nothing = { processed: 0, expired: 0, overflow: 0, runs: 0, hasMore: false };
const bytes = (length: number) => ({ body: new Uint8Array(length) });

/** The stored bytes of a tenant, and of its only or any event if all are alike. */
async function countBytes(
  { sql }: Pick<Subject, "sql">,
  tenant = "acme",
): Promise<{ total: number; each: number }> {
  const [row] = await sql(
    `SELECT sum(stored) AS total, count(*) AS count FROM events WHERE tenant_id = '${tenant}'`,
  );
  const total = Number(row?.total ?? 0);
  return { total, each: total / Number(row?.count) };
}

export function sweepContract(it: It): void {
  it("removes processed events exactly at the end of their retention time", async ({ store }) => {
    const [early, late, pending] = sampleEvents(3);
    await appendEvents(store, [early, late, pending]);
    await store.markProcessed("acme", [early.id], START, null);
    await store.markProcessed("acme", [late.id], START + DAY, null);
    expect(await sweep(store, { now: START + 3 * DAY - 1 })).toEqual(nothing);
    expect(await sweep(store, { now: START + 3 * DAY })).toEqual({
      ...nothing,
      processed: 1,
      hasMore: true,
    });
    expect(ids(await allEvents(store))).toEqual(ids([late, pending]));
    expect(await store.getEvent("acme", early.id)).toBeUndefined();
    expect(await store.getPayload("acme", 1)).toBeUndefined();
    expect(await store.getPayload("acme", 2)).toBeDefined();
    expect(await sweep(store, { now: START + 3 * DAY })).toEqual(nothing);
  });

  it("removes pending events by their age, and updates the counts", async ({ store, sql }) => {
    const old = sampleEvents(3, (index) => ({ type: index ? "push" : "issues", ...bytes(10) }));
    const edge = sampleEvent({ received_at: START + DAY, ...bytes(7) });
    await appendEvents(store, [...old, edge]);
    await store.markProcessed("acme", [itemAt(old, 2).id], START + 90 * DAY, null);
    expect(await sweep(store, { now: START + 91 * DAY })).toEqual({
      ...nothing,
      expired: 2,
      hasMore: true,
    });
    // The retention time of a processed event starts when it is marked.
    expect(ids(await allEvents(store))).toEqual(ids([itemAt(old, 2), edge]));
    expect(await store.pendingStatus("acme")).toEqual({
      pending_count: 1,
      latest_received_at: START + DAY,
      types: { issues: 1 },
    });
    expect(await store.getTenant("acme")).toMatchObject({
      pending: 1,
      bytes: (await countBytes({ sql })).total,
      pruned_seq: 2,
      seq: 4,
    });
    expect(await sweep(store, { now: START + 91 * DAY })).toEqual(nothing);
  });

  it("removes pending events by their age even if they are leased", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    await store.claimEvents({
      tenant: "acme",
      by: "ada",
      limit: 1,
      now: START,
      until: START + 1_000 * DAY,
    });
    expect(await sweep(store, { now: START + 100 * DAY })).toMatchObject({ expired: 1 });
    expect(await store.releaseEvents("acme", [event.id], "ada")).toEqual([]);
  });

  it("reduces a tenant to the maximum bytes, processed events first", async ({ store, sql }) => {
    // The texts of other samples contain the number of samples so far, so their size differs.
    const sameSize = (index: number) => ({
      ...bytes(100),
      external_id: `delivery-${index}`,
      title: "The lamp is broken",
      url: "https://github.com/acme/web/issues/1",
    });
    const events = sampleEvents(6, sameSize);
    await appendEvents(store, events);
    await appendEvents(store, sampleEvents(3, sameSize), "umbrella");
    await store.markProcessed("acme", ids([itemAt(events, 3), itemAt(events, 4)]), START, null);

    const { each } = await countBytes({ sql });
    expect(await sweep(store, { maxBytes: 6 * each })).toEqual(nothing);
    expect(await sweep(store, { maxBytes: 6 * each - 1 })).toEqual({
      ...nothing,
      overflow: 1,
      hasMore: true,
    });
    expect(ids(await allEvents(store))).toEqual(
      ids([0, 1, 2, 4, 5].map((at) => itemAt(events, at))),
    );
    expect(await sweep(store, { maxBytes: Math.floor(3.5 * each) })).toEqual({
      ...nothing,
      overflow: 2,
      hasMore: true,
    });
    expect(ids(await allEvents(store))).toEqual(ids([1, 2, 5].map((at) => itemAt(events, at))));
    expect(await store.getTenant("acme")).toMatchObject({
      bytes: 3 * each,
      pending: 3,
      pruned_seq: 5,
    });
    expect(await store.getTenant("umbrella")).toMatchObject({
      bytes: (await countBytes({ sql }, "umbrella")).total,
      pending: 3,
      pruned_seq: 0,
    });
    expect(await sweep(store, { maxBytes: Math.floor(3.5 * each) })).toEqual(nothing);
  });

  it("subtracts what was counted, also for events that a former version has counted", async ({
    store,
    sql,
  }) => {
    const [former, ...events] = sampleEvents(3, () => bytes(100_000));
    await appendEvents(store, [former]);
    await appendEvents(store, events);
    const { total } = await countBytes({ sql });
    expect((await store.getTenant("acme"))?.bytes).toBe(total);
    // A former version counted the body of an event only.
    await sql(
      "UPDATE tenants SET bytes = bytes - (SELECT stored FROM events WHERE seq = 1) + 100000 RETURNING id",
    );
    await sql("UPDATE events SET stored = NULL WHERE seq = 1 RETURNING id");
    await store.markProcessed("acme", [former.id], START, null);
    await sweep(store, { now: START + 3 * DAY });
    expect(await store.getTenant("acme")).toMatchObject({
      bytes: (await countBytes({ sql })).total,
    });
    await sweep(store, { now: START + 100 * DAY });
    expect(await store.getTenant("acme")).toMatchObject({ bytes: 0 });
  });

  it("keeps the events of runs that have not ended", async ({ store, sql }) => {
    const events = sampleEvents(4, () => bytes(100));
    const [processed, pending, idle, free] = events;
    await appendEvents(store, events);
    await appendEvents(store, [sampleEvent(bytes(100)), sampleEvent(bytes(100))], "umbrella");
    await store.markProcessed("acme", ids([processed, free]), START, null);
    await store.queueRuns([
      ...[processed, pending].map(({ id }) => sampleRun({ event_id: id })),
      // A run of another tenant does not prevent the removal of an event.
      sampleRun({ tenant: "umbrella", event_id: idle.id }),
    ]);
    const runs = await claim(store, { now: START });
    const runsOfAcme = runs.filter(({ run }) => run.tenant === "acme");
    expect(runsOfAcme).toHaveLength(2);
    await save(store, runsOfAcme, { next: { status: "waiting", due_at: START + 100 * DAY } });

    const now = START + 100 * DAY;
    expect(await sweep(store, { now: START + 3 * DAY, limit: 1 })).toMatchObject({ processed: 1 });
    expect(await sweep(store, { now })).toMatchObject({ processed: 0, expired: 3 });
    expect(ids(await allEvents(store))).toEqual(ids([processed, pending]));
    expect(await sweep(store, { now, maxBytes: 1 })).toEqual(nothing);
    // The largest tenant has no removable events, but another tenant has one.
    await appendEvents(store, [sampleEvent(bytes(150))], "umbrella");
    const maxBytes = (await countBytes({ sql }, "umbrella")).total - 1;
    expect(await sweep(store, { maxBytes })).toEqual({
      ...nothing,
      overflow: 1,
      hasMore: true,
    });
    expect(await sweep(store, { maxBytes })).toEqual(nothing);
    expect(await store.getPayload("acme", 1)).toBeDefined();
    expect(await store.listRuns({ tenant: "acme", limit: 9, event: processed.id })).toHaveLength(1);

    await save(store, await claim(store, { now }));
    expect(await sweep(store, { now })).toEqual({
      ...nothing,
      processed: 1,
      expired: 1,
      hasMore: true,
    });
    expect(await allEvents(store)).toEqual([]);
  });

  it("reduces every tenant to the maximum bytes, one tenant per call", async ({ store, sql }) => {
    for (const tenant of ["acme", "umbrella", "globex"])
      await appendEvents(
        store,
        sampleEvents(3, () => bytes(100)),
        tenant,
      );
    const { each } = await countBytes({ sql });
    let calls = 0;
    while ((await sweep(store, { maxBytes: Math.floor(1.5 * each) })).hasMore) calls += 1;
    expect(calls).toBeLessThan(10);
    for (const tenant of ["acme", "umbrella", "globex"])
      expect(await store.getTenant(tenant)).toMatchObject({
        bytes: (await countBytes({ sql }, tenant)).total,
        pending: 1,
      });
  });

  it("applies the maximum bytes of a tenant instead of the hub's", async ({ store, sql }) => {
    for (const tenant of ["acme", "umbrella"])
      await appendEvents(
        store,
        sampleEvents(3, () => bytes(100)),
        tenant,
      );
    const { total, each } = await countBytes({ sql }, "umbrella");
    const maxBytes = total - 1;
    await store.putTenant({ id: "acme", max_bytes: 10 * total, at: START });
    await store.putTenant({ id: "umbrella", max_bytes: 2 * each, at: START });
    expect(await sweep(store, { maxBytes })).toEqual({
      ...nothing,
      overflow: 1,
      hasMore: true,
    });
    expect(await sweep(store, { maxBytes })).toEqual(nothing);
    expect(await store.getTenant("acme")).toMatchObject({ pending: 3 });
    expect(await store.getTenant("umbrella")).toMatchObject({ bytes: 2 * each, pending: 2 });
  });

  it("removes events after the shorter retention times of tenants", async ({ store }) => {
    const tenants = ["acme", "globex", "umbrella"];
    const events = tenants.map(() =>
      sampleEvents(3, (index) => ({ received_at: START + index * DAY })),
    );
    for (const [index, tenant] of tenants.entries()) {
      const [done, , last] = itemAt(events, index);
      await appendEvents(store, itemAt(events, index), tenant);
      await store.markProcessed(tenant, ids([done]), START + 5 * DAY, null);
      await store.markProcessed(tenant, ids([last]), START + 3 * DAY, null);
    }
    await store.putTenant({ id: "acme", processed_for: DAY, pending_for: DAY, at: START });
    await store.putTenant({ id: "umbrella", pending_for: 2 * DAY, at: START });
    const countRemaining = async () =>
      Promise.all(tenants.map(async (tenant) => ids(await allEvents(store, tenant)).length));
    expect(await store.sweepTenants("", { now: START + 2 * DAY }, 10)).toEqual({
      processed: 0,
      expired: 0,
      next: null,
    });
    expect(await store.sweepTenants("", { now: START + 4 * DAY }, 10)).toEqual({
      processed: 1,
      expired: 2,
      next: null,
    });
    expect(await countRemaining()).toEqual([1, 3, 2]);
    expect(await store.getTenant("acme")).toMatchObject({ pending: 0, pruned_seq: 3 });
    expect(await store.sweepTenants("", { now: START + 6 * DAY }, 10)).toMatchObject({
      processed: 1,
    });
    expect(await countRemaining()).toEqual([0, 3, 2]);
  });

  it("removes at most `limit` events per call of sweepTenants, which continues after a cursor", async ({
    store,
  }) => {
    const tenants = Array.from({ length: 45 }, (_, index) => `tenant-${index}`);
    for (const id of tenants) {
      await appendEvents(store, sampleEvents(id === "tenant-3" ? 25 : 1), id);
      await store.putTenant({ id, pending_for: DAY, at: START });
    }
    let removed = 0;
    let calls = 0;
    for (let after: string | null = ""; after !== null; calls += 1) {
      const { expired, next } = await store.sweepTenants(after, { now: START + 9 * DAY }, 10);
      expect(expired).toBeLessThanOrEqual(10);
      removed += expired;
      after = next;
      expect(calls).toBeLessThan(20);
    }
    expect(removed).toBe(69);
  });

  it("removes at most `limit` events per call, and reports `hasMore`", async ({ store, sql }) => {
    const events = sampleEvents(25);
    await appendEvents(store, events);
    await store.markProcessed("acme", ids(events.slice(0, 12)), START, null);
    const now = START + 100 * DAY;
    expect(await sweep(store, { now, limit: 10 })).toEqual({
      ...nothing,
      processed: 10,
      hasMore: true,
    });
    expect(await sweep(store, { now, limit: 10 })).toEqual({
      ...nothing,
      processed: 2,
      expired: 8,
      hasMore: true,
    });
    expect(await sweep(store, { now, limit: 10 })).toEqual({
      ...nothing,
      expired: 5,
      hasMore: true,
    });
    expect(await sweep(store, { now, limit: 10 })).toEqual(nothing);
    expect(await allEvents(store)).toEqual([]);
    expect(await store.getTenant("acme")).toMatchObject({
      bytes: 0,
      pending: 0,
      seq: 25,
      pruned_seq: 25,
    });

    await appendEvents(
      store,
      sampleEvents(25, () => bytes(10)),
    );
    expect(await sweep(store, { maxBytes: 1, limit: 10 })).toEqual({
      ...nothing,
      overflow: 10,
      hasMore: true,
    });
    expect(await store.getTenant("acme")).toMatchObject({
      bytes: (await countBytes({ sql })).total,
      pending: 15,
      pruned_seq: 35,
    });
  });

  it("removes hundreds of events of many tenants", async ({ store }) => {
    for (let index = 0; index < 30; index += 1)
      await appendEvents(store, sampleEvents(20), `tenant-${index}`);
    expect(await sweep(store, { now: START + 100 * DAY, limit: 550 })).toMatchObject({
      expired: 550,
    });
    const remaining = await store.listTenants("", 100);
    expect(remaining.reduce((sum, { pending }) => sum + pending, 0)).toBe(50);
  });

  it("counts each removal once in concurrent calls", async ({ store }) => {
    for (let round = 0; round < 5; round += 1) {
      await appendEvents(store, sampleEvents(100));
      const swept = await Promise.all(
        Array.from({ length: 5 }, () => sweep(store, { now: START + 100 * DAY })),
      );
      expect(swept.reduce((sum, { expired }) => sum + expired, 0)).toBe(100);
      expect(await store.getTenant("acme")).toMatchObject({ pending: 0, bytes: 0 });
    }
  });

  it("accepts the delivery id of a removed event again, with a new seq", async ({
    store,
    reopen,
  }) => {
    const event = sampleEvent({ external_id: "one" });
    await appendEvents(store, [event]);
    await store.markProcessed("acme", [event.id], START, null);
    await sweep(store, { now: START + 100 * DAY });
    const redelivery = { ...event, id: sampleEvent().id };
    expect(await appendEvents(await reopen(), [redelivery])).toEqual([2]);
    expect(await allEvents(store)).toEqual([newRow(redelivery, 2)]);
  });
}
