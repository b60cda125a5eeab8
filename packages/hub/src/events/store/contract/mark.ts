import { expect } from "vitest";
import type { It } from "../../../kernel/store/contract/subject.ts";
import { allEvents, appendEvents, ids, START, sampleEvent, sampleEvents } from "./sample.ts";

export function markContract(it: It): void {
  it("distinguishes newly marked, already marked and unknown events", async ({ store }) => {
    const [first, second, third] = sampleEvents(3);
    await appendEvents(store, [first, second, third]);
    const unknown = sampleEvent().id;
    expect(
      await store.markProcessed("acme", [second.id, unknown, first.id], START + 5, "done"),
    ).toEqual({
      marked: [second.id, first.id],
      alreadyProcessed: [],
      unknown: [unknown],
    });
    expect(
      await store.markProcessed("acme", [third.id, "nonsense", first.id], START + 9, null),
    ).toEqual({ marked: [third.id], alreadyProcessed: [first.id], unknown: ["nonsense"] });
    expect(await store.getEvent("acme", first.id)).toMatchObject({
      processed: true,
      processed_at: START + 5,
      note: "done",
    });
    expect(await store.getEvent("acme", third.id)).toMatchObject({
      processed: true,
      processed_at: START + 9,
      note: null,
    });
  });

  it("returns an id only once if it is given twice", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    expect(await store.markProcessed("acme", [event.id, "x", event.id, "x"], START, null)).toEqual({
      marked: [event.id],
      alreadyProcessed: [],
      unknown: ["x"],
    });
    expect(await store.markProcessed("acme", [event.id, event.id], START, null)).toEqual({
      marked: [],
      alreadyProcessed: [event.id],
      unknown: [],
    });
    expect(await store.getTenant("acme")).toMatchObject({ pending: 0 });
  });

  it("treats events of another tenant as unknown", async ({ store }) => {
    const theirs = sampleEvent();
    await appendEvents(store, [theirs], "umbrella");
    await appendEvents(store, [sampleEvent()]);
    for (const tenant of ["acme", "nobody"])
      expect(await store.markProcessed(tenant, [theirs.id], START, null)).toEqual({
        marked: [],
        alreadyProcessed: [],
        unknown: [theirs.id],
      });
    expect(await store.getEvent("umbrella", theirs.id)).toMatchObject({ processed: false });
    expect(await store.pendingStatus("umbrella")).toMatchObject({ pending_count: 1 });
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 1 });
  });

  it("accepts an empty list, and hundreds of ids", async ({ store }) => {
    const none = { marked: [], alreadyProcessed: [], unknown: [] };
    expect(await store.markProcessed("acme", [], START, null)).toEqual(none);
    const events = sampleEvents(450);
    await appendEvents(store, events);
    const all = ids(events);
    expect(await store.markProcessed("acme", all.slice(0, 100), START, null)).toEqual({
      ...none,
      marked: all.slice(0, 100),
    });
    expect(await store.markProcessed("acme", all, START, null)).toEqual({
      marked: all.slice(100),
      alreadyProcessed: all.slice(0, 100),
      unknown: [],
    });
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 0, types: {} });
    expect((await allEvents(store)).every(({ processed }) => processed)).toBe(true);
  });

  it("marks each event once in concurrent calls", async ({ store }) => {
    const events = sampleEvents(20);
    await appendEvents(store, events);
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        store.markProcessed(
          "acme",
          index % 2 ? ids(events) : ids(events.toReversed()),
          START,
          `by ${index}`,
        ),
      ),
    );
    expect(results.flatMap(({ marked }) => marked).sort()).toEqual(ids(events).sort());
    expect(results.flatMap(({ alreadyProcessed }) => alreadyProcessed)).toHaveLength(7 * 20);
    expect(await store.getTenant("acme")).toMatchObject({ pending: 0 });
  });

  it("is undone by reopenEvents, which also restores the counts", async ({ store }) => {
    const [first, second, third] = sampleEvents(3, (index) => ({
      type: index === 0 ? "push" : "issues",
    }));
    await appendEvents(store, [first, second, third]);
    await store.claimEvent({
      tenant: "acme",
      id: first.id,
      by: "ada",
      now: START,
      until: START + 9,
    });
    await store.markProcessed("acme", [first.id, second.id], START + 1, "done");
    expect(await store.reopenEvents("umbrella", [first.id])).toEqual({
      reopened: [],
      alreadyPending: [],
      unknown: [first.id],
    });
    expect(
      await store.reopenEvents("acme", [third.id, second.id, "x", first.id, first.id]),
    ).toEqual({
      reopened: [second.id, first.id],
      alreadyPending: [third.id],
      unknown: ["x"],
    });
    expect(await store.reopenEvents("acme", [first.id])).toMatchObject({ reopened: [] });
    expect(await store.getEvent("acme", first.id)).toMatchObject({
      processed: false,
      processed_at: null,
      note: null,
      claimed_by: null,
      claimed_until: null,
      attempts: 0,
    });
    expect(await store.getTenant("acme")).toMatchObject({ pending: 3 });
    expect(await store.pendingStatus("acme")).toMatchObject({
      pending_count: 3,
      types: { push: 1, issues: 2 },
    });
    await store.markProcessed("acme", [first.id, second.id, third.id], START + 2, null);
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 0, types: {} });
  });

  it("ends the lease of the event", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    await store.claimEvents({ tenant: "acme", by: "ada", limit: 1, now: START, until: START + 60 });
    await store.markProcessed("acme", [event.id], START + 1, null);
    expect(await store.getEvent("acme", event.id)).toMatchObject({
      claimed_by: "ada",
      claimed_until: null,
    });
  });
}
