import { expect } from "vitest";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { AppendRequest, NewEvent } from "../../model.ts";
import {
  allEvents,
  appendEvents,
  appendRequest,
  DAY,
  ids,
  itemAt,
  START,
  sampleEvent,
  sampleEvents,
} from "./sample.ts";

const outcomes = (results: { outcome: string }[]) => results.map(({ outcome }) => outcome);
/** Appends a batch, and returns only the outcomes. */
const append = async (store: Store, batch: AppendRequest[], quota: number | null) =>
  outcomes(await store.appendEvents(batch, quota));

const exemptRequest = (count: number) => ({
  ...appendRequest(sampleEvents(count)),
  skipQuota: true,
});
/** Stores exempt events, although the quota may be used up. Returns them. */
async function exempt(store: Store, quota: number, count: number): Promise<NewEvent[]> {
  const request = exemptRequest(count);
  expect(await append(store, [request], quota)).toEqual(["stored"]);
  return request.events;
}

const retention = (now: number) => ({
  now,
  processedFor: 3 * DAY,
  pendingFor: 90 * DAY,
  maxBytes: 1e9,
  limit: 100,
});

export function quotaContract(it: It): void {
  it("limits the pending events of a tenant exactly", async ({ store }) => {
    for (let count = 1; count <= 3; count += 1)
      expect(await append(store, [appendRequest([sampleEvent()])], 3)).toEqual(["stored"]);
    expect(await store.appendEvents([appendRequest([sampleEvent()])], 3)).toEqual([
      { outcome: "over_quota", pending: 3, quota: 3 },
    ]);
    expect(await store.getTenant("acme")).toMatchObject({ seq: 3, pending: 3 });
    expect(await append(store, [appendRequest([sampleEvent()], "umbrella")], 3)).toEqual([
      "stored",
    ]);
  });

  it("is checked for each request of a batch: a request that fits is stored after one that exceeds it", async ({
    store,
  }) => {
    const pair = sampleEvents(2);
    const last = sampleEvent();
    const results = await store.appendEvents(
      [
        appendRequest(pair),
        appendRequest(sampleEvents(2)),
        appendRequest([last]),
        appendRequest([sampleEvent()]),
        appendRequest([sampleEvent()], "umbrella"),
      ],
      3,
    );
    expect(outcomes(results)).toEqual(["stored", "over_quota", "stored", "over_quota", "stored"]);
    expect(results[1]).toEqual({ outcome: "over_quota", pending: 2, quota: 3 });
    expect(ids(await allEvents(store))).toEqual(ids([...pair, last]));
  });

  it("is exact in concurrent calls", async ({ store }) => {
    const results = await Promise.all(
      Array.from({ length: 30 }, () => store.appendEvents([appendRequest([sampleEvent()])], 10)),
    );
    expect(outcomes(results.flat()).filter((outcome) => outcome === "stored")).toHaveLength(10);
    expect(await store.getTenant("acme")).toMatchObject({ pending: 10, seq: 10 });
  });

  it("accepts all events of a request or none", async ({ store }) => {
    await store.appendEvents([appendRequest(sampleEvents(2))], 4);
    expect(await append(store, [appendRequest(sampleEvents(3))], 4)).toEqual(["over_quota"]);
    expect(await allEvents(store)).toHaveLength(2);
    expect(await append(store, [appendRequest(sampleEvents(2))], 4)).toEqual(["stored"]);
  });

  it("counts only the new events of a request", async ({ store }) => {
    const stored = sampleEvents(3);
    await store.appendEvents([appendRequest(stored)], 4);
    const redeliveries = stored.map((event) => ({
      ...sampleEvent(),
      external_id: event.external_id,
    }));
    expect(await append(store, [appendRequest([...redeliveries, sampleEvent()])], 4)).toEqual([
      "stored",
    ]);
  });

  it("does not apply to duplicates", async ({ store }) => {
    const event = sampleEvent({ external_id: "one" });
    await store.appendEvents([appendRequest([event])], 1);
    const redelivery = sampleEvent({ external_id: "one" });
    expect(
      await store.appendEvents([appendRequest([sampleEvent()]), appendRequest([redelivery])], 1),
    ).toEqual([
      { outcome: "over_quota", pending: 1, quota: 1 },
      { outcome: "duplicate", events: [{ id: event.id, seq: 1, duplicate: true }] },
    ]);
  });

  it("does not make the retry of a rejected delivery a duplicate", async ({ store }) => {
    const rejected = sampleEvent();
    await store.appendEvents([appendRequest([sampleEvent()])], 1);
    const retry = { ...rejected, id: sampleEvent().id };
    expect(await append(store, [appendRequest([rejected]), appendRequest([retry])], 1)).toEqual([
      "over_quota",
      "over_quota",
    ]);
    expect(await append(store, [appendRequest([retry])], 2)).toEqual(["stored"]);
  });

  it("can be set for one tenant, above or below the default, and reset", async ({ store }) => {
    await store.putTenant({ id: "acme", quota: 2, at: START });
    for (const outcome of ["stored", "stored", "over_quota"])
      expect(await append(store, [appendRequest([sampleEvent()])], 1)).toEqual([outcome]);
    await store.putTenant({ id: "acme", quota: 0, at: START });
    expect(await store.appendEvents([appendRequest([sampleEvent()])], 100)).toEqual([
      { outcome: "over_quota", pending: 2, quota: 0 },
    ]);
    await store.putTenant({ id: "acme", quota: null, at: START });
    expect(await store.appendEvents([appendRequest([sampleEvent()])], 1)).toEqual([
      { outcome: "over_quota", pending: 2, quota: 1 },
    ]);
    expect(await append(store, [appendRequest([sampleEvent()])], null)).toEqual(["stored"]);
  });

  it("exempt events are stored above the quota, and do not count towards it", async ({ store }) => {
    await exempt(store, 0, 3);
    expect(await append(store, [appendRequest([sampleEvent()])], 1)).toEqual(["stored"]);
    await exempt(store, 1, 2);
    expect(await store.appendEvents([appendRequest([sampleEvent()])], 1)).toEqual([
      { outcome: "over_quota", pending: 1, quota: 1 },
    ]);
    expect(await store.getTenant("acme")).toMatchObject({ pending: 6 });
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 6 });
  });

  it("exempt events do not count in the batch that stores them", async ({ store }) => {
    const batch = [exemptRequest(2), appendRequest([sampleEvent()]), exemptRequest(2)];
    expect(
      await append(store, [...batch, appendRequest(sampleEvents(2)), exemptRequest(1)], 2),
    ).toEqual(["stored", "stored", "stored", "over_quota", "stored"]);
  });

  it("exempt events free nothing when they are processed, and stay exempt when they are reopened", async ({
    store,
  }) => {
    const events = await exempt(store, 1, 3);
    await append(store, [appendRequest([sampleEvent()])], 1);
    const [first, second, third] = ids(events) as [string, string, string];
    const claim = { tenant: "acme", by: "ada", now: START, until: START + 1_000 };
    await store.claimEvent({ ...claim, id: first });
    const isFull = async () => {
      expect(await append(store, [appendRequest([sampleEvent()])], 1)).toEqual(["over_quota"]);
    };
    await isFull();
    await store.markClaimedProcessed("acme", first, "ada", START, null);
    await isFull();
    await store.markProcessed("acme", [second, third], START, null);
    await isFull();
    await store.reopenEvents("acme", [first, second]);
    await isFull();
    expect(await append(store, [appendRequest([sampleEvent()])], 2)).toEqual(["stored"]);
  });

  it("exempt events free nothing when retention removes them", async ({ store }) => {
    await exempt(store, 1, 2);
    const kept = sampleEvent({ received_at: START + 50 * DAY });
    await append(store, [appendRequest([kept])], 1);
    await store.sweep(retention(START + 100 * DAY));
    expect(ids(await allEvents(store))).toEqual([kept.id]);
    expect(await append(store, [appendRequest([sampleEvent()])], 1)).toEqual(["over_quota"]);
    await store.sweep({ ...retention(START + 100 * DAY), maxBytes: 0 });
    expect(
      await append(store, [appendRequest([sampleEvent()]), appendRequest([sampleEvent()])], 1),
    ).toEqual(["stored", "over_quota"]);
  });

  it("exempt events do not outlive the deletion of their tenant", async ({ store }) => {
    await exempt(store, 1, 2);
    await store.startDeletion("acme", START);
    while (!(await store.continueDeletion("acme", 100)));
    await store.putTenant({ id: "acme", at: START });
    expect(
      await append(store, [appendRequest([sampleEvent()]), appendRequest([sampleEvent()])], 1),
    ).toEqual(["stored", "over_quota"]);
  });

  it("does not count processed events, even if one is marked twice", async ({ store }) => {
    const [first, second] = sampleEvents(2);
    await store.appendEvents([appendRequest([first, second])], 2);
    await store.markProcessed("acme", [first.id], START, null);
    await store.markProcessed("acme", [first.id], START, null);
    expect(
      await append(store, [appendRequest([sampleEvent()]), appendRequest([sampleEvent()])], 2),
    ).toEqual(["stored", "over_quota"]);
  });

  it("does not count pending events that retention has removed", async ({ store }) => {
    const old = sampleEvents(2);
    await appendEvents(store, old);
    await store.markProcessed("acme", [itemAt(old, 0).id], START, null);
    await store.sweep(retention(START + 100 * DAY));
    expect(await store.getTenant("acme")).toMatchObject({ pending: 0, bytes: 0 });
    expect(
      await append(store, [appendRequest([sampleEvent()]), appendRequest([sampleEvent()])], 1),
    ).toEqual(["stored", "over_quota"]);
  });
}
