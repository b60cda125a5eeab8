import { expect } from "vitest";
import type { EventQuery, NewEvent, Store } from "../store.ts";
import {
  allEvents,
  appendEvents,
  appendInChunks,
  ids,
  newRow,
  nth,
  readPages,
  START,
  sampleEvent,
  sampleEvents,
} from "./sample.ts";
import type { It } from "./subject.ts";

const walkList = (store: Store, query: Omit<EventQuery, "cursor">) =>
  readPages((cursor) => store.listEvents({ ...query, cursor }));

const asksForId = (store: Store) => store.getLogId();

export function listContract(it: It): void {
  it("counts the pending events and their types", async ({ store }) => {
    expect(await store.pendingStatus("acme")).toEqual({
      pending_count: 0,
      latest_received_at: null,
      types: {},
    });
    const events = sampleEvents(6, (at) => ({
      type: nth(["push", "issues", "push", "push", "issues", "release"], at),
      received_at: START + at,
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
    await store.markProcessed("acme", [nth(events, 5).id, nth(events, 0).id], START, null);
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

  it("returns the same log id until the database is recreated", async (subject) => {
    const { store, reopen, reopenOn } = subject;
    const [id, ...others] = await Promise.all([store, store, await reopen()].map(asksForId));
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(others).toEqual([id, id]);
    expect(await asksForId(await reopen())).toBe(id);
    expect(await asksForId(await reopenOn("CREATE TABLE theirs (id TEXT)"))).not.toBe(id);
  });

  it("lists the most frequent type first", async ({ store }) => {
    const types = ["rare", "common", "common", "usual", "usual", "usual"];
    await appendEvents(
      store,
      sampleEvents(6, (at) => ({ type: nth(types, at) })),
    );
    const status = await store.pendingStatus("acme");
    expect(Object.keys(status.types)).toEqual(["usual", "common", "rare"]);
  });

  it("counts types with names of Object.prototype", async ({ store }) => {
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
    const rows = events.map((event, at) => newRow(event, at + 1));
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

  it("returns a next cursor only if there is a next page", async ({ store }) => {
    await appendEvents(store, sampleEvents(4));
    const page = (limit: number, cursor?: number) =>
      store.listEvents({ tenant: "acme", limit, order: "oldest", cursor });
    expect((await page(3)).next).toBe(3);
    expect((await page(4)).next).toBeNull();
    expect(await page(3, 3)).toMatchObject({ items: [{ seq: 4 }], next: null });
    expect(await page(3, 4)).toEqual({ items: [], next: null });
  });

  it("returns every event exactly once, with any filter, order and page size", async ({
    store,
  }) => {
    const pick = <Item>(items: Item[], at: number) => items[at % items.length] as Item;
    const events = sampleEvents(23, (at) => ({
      type: pick(["push", "issues", "star"], at),
      repo: pick(["acme/web", null, "acme/api", "ACME/web"], at),
      source: pick(["github", "stripe"], at),
      received_at: START, // All have the same time: only seq determines the order.
    }));
    await appendEvents(store, events);
    await store.markProcessed("acme", ids(events.filter((_, at) => at % 5 < 2)), START, null);
    await appendEvents(store, sampleEvents(5), "umbrella");
    const rows = await allEvents(store);
    expect(rows).toHaveLength(23);

    const filters: Partial<EventQuery>[] = [
      {},
      { type: "push" },
      { repo: "acme/web" },
      { source: "stripe" },
      { type: "issues", repo: "acme/api", source: "github" },
      { type: "nothing like it" },
    ];
    for (const filter of filters)
      for (const pending of [undefined, true, false])
        for (const order of ["newest", "oldest"] as const)
          for (const limit of [1, 4, 23]) {
            const wanted = rows.filter(
              (row) =>
                (filter.type === undefined || row.type === filter.type) &&
                (filter.repo === undefined || row.repo === filter.repo) &&
                (filter.source === undefined || row.source === filter.source) &&
                (pending === undefined || row.processed !== pending),
            );
            const query = { tenant: "acme", limit, order, pending, ...filter };
            const { items, pages } = await walkList(store, query);
            expect(ids(items), JSON.stringify(query)).toEqual(
              ids(order === "oldest" ? wanted : wanted.toReversed()),
            );
            expect(pages).toBe(Math.max(1, Math.ceil(wanted.length / limit)));
          }
  });

  it("continues from a cursor after appends and removals", async ({ store }) => {
    const events = sampleEvents(6, (at) => ({ received_at: START + at }));
    await appendEvents(store, events);
    const query = { tenant: "acme", limit: 2, pending: true } as const;
    const first = await store.listEvents(query);
    await appendEvents(store, sampleEvents(2));
    await store.markProcessed("acme", [nth(events, 3).id, nth(events, 4).id], START, null);
    const second = await store.listEvents({ ...query, cursor: first.next ?? 0 });
    expect(ids([...first.items, ...second.items])).toEqual(
      ids([5, 4, 2, 1].map((at) => nth(events, at))),
    );
  });

  it("finds an event by its id only for its tenant", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    expect(await store.getEvent("umbrella", event.id)).toBeUndefined();
    expect(await store.getEvent("acme", sampleEvent().id)).toBeUndefined();
    expect(await store.getEvent("acme", "no id at all")).toBeUndefined();
  });

  it("scans a bounded part of a long log per page for a repository, and finds all events", async ({
    store,
  }) => {
    const events = sampleEvents(5_100, (at) => ({
      repo: at === 0 || at === 5_099 ? "acme/rare" : "acme/web",
      body: new Uint8Array(0),
    }));
    await appendInChunks(store, events);
    const rare = [nth(events, 5_099), nth(events, 0)];
    for (const order of ["newest", "oldest"] as const) {
      const query = { tenant: "acme", repo: "acme/rare", pending: true, limit: 5, order };
      expect((await store.listEvents(query)).items).toHaveLength(1);
      const { items, pages } = await walkList(store, query);
      expect(ids(items)).toEqual(ids(order === "newest" ? rare : rare.toReversed()));
      expect(pages).toBe(2);
    }
  });

  it("reaches the end of a long log", async ({ store }) => {
    const events: NewEvent[] = sampleEvents(1_200);
    await appendInChunks(store, events);
    const { items } = await walkList(store, { tenant: "acme", limit: 100, pending: true });
    expect(ids(items)).toEqual(ids(events.toReversed()));
  });
}
