import { expect } from "vitest";
import type { It } from "../../../kernel/store/contract/subject.ts";
import { createGroupCommit } from "../../../kernel/store/group-commit.ts";
import {
  allEvents,
  appendEvents,
  appendRequest,
  ids,
  itemAt,
  sampleEvent,
  sampleEvents,
  seqsOf,
} from "./sample.ts";

export function batchContract(it: It): void {
  it("is stored completely or not at all", async ({ store }) => {
    const existing = sampleEvent();
    await appendEvents(store, [existing]);
    const before = await store.getTenant("acme");
    const batch = [
      appendRequest(sampleEvents(3)),
      appendRequest([{ ...sampleEvent(), id: existing.id }]),
      appendRequest(sampleEvents(1), "umbrella"),
    ];
    const error = await store.appendEvents(batch, null).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(Error);
    expect(store.isDataError(error)).toBe(true);
    expect(ids(await allEvents(store))).toEqual([existing.id]);
    expect(await store.getTenant("acme")).toEqual(before);
    expect(await store.getTenant("umbrella")).toBeUndefined();
    expect(await store.pendingStatus("acme")).toMatchObject({ types: { issues: 1 } });
    expect(await appendEvents(store, [sampleEvent()])).toEqual([2]);
  });

  it("can be empty, and can contain empty requests", async ({ store }) => {
    expect(await store.appendEvents([], null)).toEqual([]);
    const [empty, stored] = await store.appendEvents(
      [appendRequest([], "nobody"), appendRequest([sampleEvent()])],
      null,
    );
    expect(empty).toEqual({ outcome: "duplicate", events: [] });
    expect(seqsOf(stored)).toEqual([1]);
    expect(await store.appendEvents([appendRequest([], "nobody")], 0)).toEqual([empty]);
    expect(await store.getTenant("nobody")).toBeUndefined();
  });

  it("can contain thousands of events in one request", async ({ store }) => {
    const events = sampleEvents(5_000, (index) => ({ external_id: `of-${index % 4_800}` }));
    const seqs = await appendEvents(store, events);
    expect(seqs.slice(0, 4_800)).toEqual(Array.from({ length: 4_800 }, (_, index) => index + 1));
    expect(seqs.slice(4_800)).toEqual(seqs.slice(0, 200));
    expect(await store.pendingStatus("acme")).toMatchObject({ types: { issues: 4_800 } });
    expect((await store.getEvent("acme", itemAt(events, 4_799).id))?.seq).toBe(4_800);
    const [repeated] = await store.appendEvents([appendRequest(events)], null);
    expect(repeated?.outcome).toBe("duplicate");
  });

  it("can contain requests of hundreds of tenants", async ({ store }) => {
    const batch = () =>
      Array.from({ length: 300 }, (_, tenant) =>
        appendRequest(
          sampleEvents(2, (index) => ({ type: `type-${index}` })),
          `tenant-${tenant}`,
        ),
      );
    await store.appendEvents(batch(), null);
    const results = await store.appendEvents(batch(), null);
    for (const appended of results) expect(seqsOf(appended)).toEqual([3, 4]);
    expect(await store.pendingStatus("tenant-299")).toMatchObject({
      pending_count: 4,
      types: { "type-0": 2, "type-1": 2 },
    });
  });

  it("is split by a group commit, so that only the invalid request fails", async ({ store }) => {
    const existing = sampleEvent();
    await appendEvents(store, [existing]);
    const commit = createGroupCommit({ store, quota: null });
    const valid = sampleEvents(6);
    const invalid = { ...sampleEvent(), id: existing.id };
    const results = await Promise.allSettled(
      [...valid.slice(0, 3), invalid, ...valid.slice(3)].map((event) =>
        commit.append(appendRequest([event])),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_, index) => (index === 3 ? "rejected" : "fulfilled")),
    );
    expect(ids(await allEvents(store))).toEqual(ids([existing, ...valid]));
  });

  it("is split by a group commit if the engine rejects a text with NUL", async ({ store }) => {
    const commit = createGroupCommit({ store, quota: null });
    const nul = sampleEvent({ title: "a\u0000b" });
    const valid = sampleEvents(2);
    const [before, withNul, after] = await Promise.allSettled(
      [itemAt(valid, 0), nul, itemAt(valid, 1)].map((event) =>
        commit.append(appendRequest([event])),
      ),
    );
    expect(before?.status).toBe("fulfilled");
    expect(after?.status).toBe("fulfilled");
    // PostgreSQL rejects the text, and SQLite stores it. No engine may truncate it.
    const stored = await store.getEvent("acme", nul.id);
    expect(stored?.title).toBe(withNul?.status === "fulfilled" ? nul.title : undefined);
  });
}
