import { expect } from "vitest";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { EventQuery, NewEvent } from "../../model.ts";
import {
  allEvents,
  appendEvents,
  appendInChunks,
  ids,
  itemAt,
  newRow,
  readPages,
  START,
  sampleEvent,
  sampleEvents,
} from "./sample.ts";

const readList = (store: Store, query: Omit<EventQuery, "cursor">) =>
  readPages((cursor) => store.listEvents({ ...query, cursor }));

export function listContract(it: It): void {
  it("counts the pending events and their types", async ({ store }) => {
    expect(await store.pendingStatus("acme")).toEqual({
      pending_count: 0,
      latest_received_at: null,
      types: {},
    });
    const events = sampleEvents(6, (index) => ({
      type: itemAt(["push", "issues", "push", "push", "issues", "release"], index),
      received_at: START + index,
    }));
    await appendEvents(store, events);
    await appendEvents(
      store,
      sampleEvents(2, () => ({ type: "star" })),
      "umbrella",
    );
    expect(await store.pendingStatus("acme")).toEqual({
      pending_count: 6,
      latest_received_at: START + 5,
      types: { push: 3, issues: 2, release: 1 },
    });
    await store.markProcessed("acme", [itemAt(events, 5).id, itemAt(events, 0).id], START, null);
    expect(await store.pendingStatus("acme")).toEqual({
      pending_count: 4,
      latest_received_at: START + 4,
      types: { push: 2, issues: 2 },
    });
    await store.markProcessed("acme", ids(events), START, null);
    expect(await store.pendingStatus("acme")).toEqual({
      pending_count: 0,
      latest_received_at: null,
      types: {},
    });
  });

  it("lists the most frequent types, and counts the events of all types", async ({ store }) => {
    const events = sampleEvents(1_101, (index) => ({
      type: index === 0 ? "type-1100" : `type-${index}`,
    }));
    await appendInChunks(store, events);
    const { pending_count, types } = await store.pendingStatus("acme");
    expect(pending_count).toBe(1_101);
    expect(Object.keys(types)).toHaveLength(1_000);
    expect(types["type-1100"]).toBe(2);
  });

  it("returns the same log id until the database is recreated", async ({
    store,
    reopen,
    reopenOn,
  }) => {
    const [id, ...others] = await Promise.all(
      [store, store, await reopen()].map((opened) => opened.getLogId()),
    );
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(others).toEqual([id, id]);
    expect(await (await reopen()).getLogId()).toBe(id);
    expect(await (await reopenOn("CREATE TABLE theirs (id TEXT)")).getLogId()).not.toBe(id);
  });

  it("counts the pending events of all tenants", async ({ store }) => {
    expect(await store.countPending()).toBe(0);
    const events = sampleEvents(3);
    await appendEvents(store, events);
    await appendEvents(store, sampleEvents(2), "umbrella");
    await store.markProcessed("acme", ids(events).slice(0, 1), START, null);
    expect(await store.countPending()).toBe(4);
  });

  it("returns the most frequent type first", async ({ store }) => {
    const types = ["rare", "common", "common", "usual", "usual", "usual"];
    await appendEvents(
      store,
      sampleEvents(6, (index) => ({ type: itemAt(types, index) })),
    );
    const status = await store.pendingStatus("acme");
    expect(Object.keys(status.types)).toEqual(["usual", "common", "rare"]);
  });

  it("counts types that are named like properties of Object.prototype", async ({ store }) => {
    await appendEvents(store, [
      sampleEvent({ type: "__proto__" }),
      sampleEvent({ type: "constructor" }),
    ]);
    const { types, pending_count } = await store.pendingStatus("acme");
    expect(Object.entries(types).sort()).toEqual([
      ["__proto__", 1],
      ["constructor", 1],
    ]);
    expect(pending_count).toBe(2);
  });

  it("lists the tenant's events, by default newest first", async ({ store }) => {
    const events = sampleEvents(3);
    await appendEvents(store, events);
    await appendEvents(store, sampleEvents(2), "umbrella");
    const rows = events.map((event, index) => newRow(event, index + 1));
    expect(await store.listEvents({ tenant: "acme", limit: 10 })).toEqual({
      items: rows.toReversed(),
      next: null,
    });
    expect(await store.listEvents({ tenant: "acme", limit: 10, order: "oldest" })).toEqual({
      items: rows,
      next: null,
    });
    expect(await store.listEvents({ tenant: "nobody", limit: 10 })).toEqual({
      items: [],
      next: null,
    });
  });

  it("returns a cursor only if there is a next page", async ({ store }) => {
    await appendEvents(store, sampleEvents(4));
    const page = (limit: number, cursor?: number) =>
      store.listEvents({ tenant: "acme", limit, order: "oldest", cursor });
    expect((await page(3)).next).toBe(3);
    expect((await page(4)).next).toBeNull();
    expect(await page(3, 3)).toMatchObject({ items: [{ seq: 4 }], next: null });
    expect(await page(3, 4)).toEqual({ items: [], next: null });
  });

  it("lists each event exactly once, with any filter, order and page size", async ({ store }) => {
    const pick = <Item>(items: Item[], index: number) => items[index % items.length] as Item;
    const events = sampleEvents(23, (index) => ({
      type: pick(["push", "issues", "star"], index),
      repo: pick(["acme/web", null, "acme/api", "ACME/web"], index),
      source: pick(["github", "stripe"], index),
      source_id: pick(["github", "stripe", "endpoint"], index),
      received_at: START, // the same for all, so that only `seq` determines the order
    }));
    await appendEvents(store, events);
    await store.markProcessed("acme", ids(events.filter((_, index) => index % 5 < 2)), START, null);
    await appendEvents(store, sampleEvents(5), "umbrella");
    const rows = await allEvents(store);
    expect(rows).toHaveLength(23);

    const filters: Partial<EventQuery>[] = [
      {},
      { type: "push" },
      { repo: "acme/web" },
      { source: "stripe" },
      { origin: "stripe" },
      { origin: "endpoint", type: "issues" },
      { type: "issues", repo: "acme/api", source: "github" },
      { type: "unknown" },
    ];
    for (const filter of filters)
      for (const pending of [undefined, true, false])
        for (const order of ["newest", "oldest"] as const)
          for (const limit of [1, 4, 23]) {
            const expected = rows.filter(
              (row) =>
                (filter.type === undefined || row.type === filter.type) &&
                (filter.repo === undefined || row.repo === filter.repo) &&
                (filter.source === undefined || row.source === filter.source) &&
                (filter.origin === undefined ||
                  [row.source, row.source_id].includes(filter.origin)) &&
                (pending === undefined || row.processed !== pending),
            );
            const query = { tenant: "acme", limit, order, pending, ...filter };
            const { items, pages } = await readList(store, query);
            expect(ids(items), JSON.stringify(query)).toEqual(
              ids(order === "oldest" ? expected : expected.toReversed()),
            );
            expect(pages).toBe(Math.max(1, Math.ceil(expected.length / limit)));
          }
  });

  it("continues at a cursor after other events were appended or processed", async ({ store }) => {
    const events = sampleEvents(6, (index) => ({ received_at: START + index }));
    await appendEvents(store, events);
    const query = { tenant: "acme", limit: 2, pending: true } as const;
    const first = await store.listEvents(query);
    await appendEvents(store, sampleEvents(2));
    await store.markProcessed("acme", [itemAt(events, 3).id, itemAt(events, 4).id], START, null);
    const second = await store.listEvents({ ...query, cursor: first.next ?? 0 });
    expect(ids([...first.items, ...second.items])).toEqual(
      ids([5, 4, 2, 1].map((at) => itemAt(events, at))),
    );
  });

  it("finds an event by its id only for its tenant", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    expect(await store.getEvent("umbrella", event.id)).toBeUndefined();
    expect(await store.getEvent("acme", sampleEvent().id)).toBeUndefined();
    expect(await store.getEvent("acme", "not an id")).toBeUndefined();
  });

  it("finds a repository in a long log, and scans a bounded part per page", async ({ store }) => {
    const events = sampleEvents(5_100, (index) => ({
      repo: index === 0 || index === 5_099 ? "acme/rare" : "acme/web",
      body: new Uint8Array(0),
    }));
    await appendInChunks(store, events);
    const rare = [itemAt(events, 5_099), itemAt(events, 0)];
    for (const order of ["newest", "oldest"] as const) {
      const query = { tenant: "acme", repo: "acme/rare", pending: true, limit: 5, order };
      expect((await store.listEvents(query)).items).toHaveLength(1);
      const { items, pages } = await readList(store, query);
      expect(ids(items)).toEqual(ids(order === "newest" ? rare : rare.toReversed()));
      expect(pages).toBe(2);
    }
  });

  it("finds a type in a long log, and scans a bounded part per page", async ({ store }) => {
    const events = sampleEvents(5_100, (index) => ({
      type: index === 0 ? "rare" : "issues",
      body: new Uint8Array(0),
    }));
    await appendInChunks(store, events);
    const query = { tenant: "acme", type: "rare", limit: 5 };
    expect((await store.listEvents(query)).items).toEqual([]);
    expect(ids((await readList(store, query)).items)).toEqual([itemAt(events, 0).id]);
    // Pending events have an index by type, so the first page finds the event.
    expect((await store.listEvents({ ...query, pending: true })).items).toHaveLength(1);
  });

  it("lists a long log to its end", async ({ store }) => {
    const events: NewEvent[] = sampleEvents(1_200);
    await appendInChunks(store, events);
    const { items } = await readList(store, { tenant: "acme", limit: 100, pending: true });
    expect(ids(items)).toEqual(ids(events.toReversed()));
  });

  it("lists the types of pending events in pages, each with the source of its newest event", async ({
    store,
  }) => {
    const types = ["push", "Issue", "issues", "a.b", "issues"];
    for (const [index, type] of types.entries())
      await appendEvents(store, [sampleEvent({ type, source: index === 4 ? "gitlab" : "github" })]);
    await appendEvents(store, [sampleEvent({ type: "theirs" })], "umbrella");
    const all = await store.listEventTypes("acme", "", 10);
    expect(all).toEqual([
      { type: "Issue", source: "github" },
      { type: "a.b", source: "github" },
      { type: "issues", source: "gitlab" },
      { type: "push", source: "github" },
    ]);
    expect(await store.listEventTypes("acme", itemAt(all, 1).type, 1)).toEqual([all[2]]);
    expect(await store.listEventTypes("acme", "push", 9)).toEqual([]);
  });
}
