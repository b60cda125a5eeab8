import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import type { EventRow } from "../model.ts";
import { appendEvents, DAY, itemAt, START, sampleEvent } from "../store/contract/sample.ts";
import { createFeed, type Filter, type Follower } from "./feed.ts";

type FeedStore = Pick<Store, "getTenant" | "listEvents" | "subscribe">;

/** `override` replaces methods of the store that the feed calls. */
function setup(
  override: (store: Store) => Partial<FeedStore> = () => ({}),
  onError: (error: unknown) => void = (error) => {
    throw error;
  },
) {
  const file = `${tempFolder()}/x.db`;
  const store = openSqlite(storeDefinition, file);
  const feedStore: FeedStore = {
    getTenant: store.getTenant,
    listEvents: store.listEvents,
    subscribe: store.subscribe,
    ...override(store),
  };
  const feed = createFeed(feedStore, onError, 5);
  onTestFinished(async () => {
    feed.close();
    await store.close();
  });
  const follow = async (
    options: {
      tenants?: string[];
      after?: [string, number][];
      isBeforeFailover?: boolean;
      filter?: Filter;
      capacity?: number;
      onEvent?: (follower: Follower | undefined) => void;
    } = {},
  ) => {
    const seen: number[] = [];
    const rows: EventRow[] = [];
    let follower: Follower | undefined;
    /** The calls of `start` and `truncated`. */
    const notices: unknown[] = [];
    let capacity = options.capacity ?? Number.POSITIVE_INFINITY;
    follower = await feed.follow({
      tenants: options.tenants ?? ["acme"],
      after: new Map(options.after ?? []),
      isBeforeFailover: options.isBeforeFailover ?? false,
      filter: options.filter ?? {},
      sink: {
        start(cursor) {
          expect(seen).toEqual([]);
          notices.push({ start: Object.fromEntries(cursor) });
        },
        event(event, cursor) {
          expect(cursor.get(event.tenant)).toBe(event.seq);
          seen.push(event.seq);
          rows.push(event);
          capacity -= 1;
          options.onEvent?.(follower);
        },
        truncated: (tenant, reason) => notices.push({ [reason]: tenant }),
        isFull: () => capacity <= 0,
      },
    });
    const drain = (amount: number) => {
      capacity = amount;
      follower?.resume();
    };
    return { seen, rows, notices, drain, stop: follower.stop, cursor: follower.cursor };
  };
  const append = (count: number, tenant = "acme", fields = {}) =>
    appendEvents(
      store,
      Array.from({ length: count }, () => sampleEvent(fields)),
      tenant,
    );
  return { store, file, follow, append };
}

/** The numbers from `first` to `last`. */
const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe("a follower", () => {
  it("gets new events in order, and no earlier events", async () => {
    const { follow, append } = setup();
    await append(3);
    const { seen } = await follow();
    await append(2);
    await append(1);
    await expect.poll(() => seen).toEqual([4, 5, 6]);
  });

  it("gets every event after its cursor once, even if it is far behind", async () => {
    const { follow, append } = setup();
    await append(900);
    const { seen } = await follow({ after: [["acme", 10]] });
    await append(50);
    await expect.poll(() => seen.length).toBe(940);
    expect(seen).toEqual(upTo(950, 11));
  });

  it("gets the events that are stored while it connects", async () => {
    const { follow, append } = setup();
    await append(5);
    const connecting = follow({ after: [["acme", 0]] });
    await append(20);
    const { seen } = await connecting;
    await append(20);
    await expect.poll(() => seen).toEqual(upTo(45));
  });

  it("gets nothing while it is full, and continues with the cache or the log when it drains", async () => {
    const { follow, append } = setup();
    const slow = await follow({ after: [["acme", 0]], capacity: 3 });
    const quick = await follow({ after: [["acme", 0]] });
    for (let batch = 0; batch < 6; batch += 1) await append(500);
    await expect.poll(() => quick.seen.length).toBe(3_000);
    expect(slow.seen).toEqual([1, 2, 3]);
    slow.drain(10);
    await expect.poll(() => slow.seen).toEqual(upTo(13));
    slow.drain(Number.POSITIVE_INFINITY);
    await expect.poll(() => slow.seen.length).toBe(3_000);
    expect(slow.seen).toEqual(upTo(3_000));
  });

  it("may call resume while it receives an event", async () => {
    const { follow, append } = setup();
    const { seen } = await follow({ onEvent: (follower) => follower?.resume() });
    await append(5);
    await append(5);
    await expect.poll(() => seen.at(-1)).toBe(10);
    expect(seen).toEqual(upTo(10));
  });

  it("gets an event that is stored while it reads an empty page of the log", async () => {
    let meanwhile: (() => Promise<unknown>) | undefined;
    const { store, follow, append } = setup((store) => ({
      async listEvents(query) {
        const page = await store.listEvents(query);
        // The notice of the new event arrives before the empty page.
        if (query.cursor === 1 && page.items.length === 0) {
          const storeEvent = meanwhile;
          meanwhile = undefined;
          await storeEvent?.();
        }
        return page;
      },
    }));
    const current = await follow();
    await append(2_500);
    await expect.poll(() => current.seen.length).toBe(2_500);
    const pages = await Promise.all(
      [0, 500, 1_000, 1_500, 2_000].map((cursor) =>
        store.listEvents({ tenant: "acme", limit: 500, order: "oldest", cursor }),
      ),
    );
    for (const { items } of pages)
      await store.markProcessed("acme", items.map(({ id }) => id), START, null); // biome-ignore format: one call
    const retention = { now: START, processedFor: 0, pendingFor: DAY, maxBytes: 1e12, limit: 500 };
    while ((await store.sweep(retention)).hasMore);
    meanwhile = async () => {
      await append(1);
      await expect.poll(() => current.seen.at(-1)).toBe(2_501);
    };
    const late = await follow({ after: [["acme", 1]] });
    await expect.poll(() => late.seen).toEqual([2_501]);
  });

  it("gets only events of its tenants that match its filter", async () => {
    const { follow, append } = setup();
    const follower = await follow({ tenants: ["acme", "umbrella"], filter: { type: "push" } });
    await append(1, "acme", { type: "push" });
    await append(1, "acme");
    await append(1, "stranger", { type: "push" });
    await append(1, "umbrella", { type: "push" });
    await append(1, "acme", { type: "push" });
    await expect.poll(() => follower.seen.toSorted()).toEqual([1, 1, 3]);
  });

  it("gets its start cursor first: the cursor that it sent, or the end of the log", async () => {
    const { follow, append } = setup();
    await append(3);
    await append(1, "umbrella");
    const fresh = await follow({ tenants: ["acme", "umbrella", "new"] });
    expect(fresh.notices).toEqual([{ start: { acme: 3, umbrella: 1, new: 0 } }]);
    const resumed = await follow({ tenants: ["acme", "umbrella"], after: [["acme", 1]] });
    expect(resumed.notices).toEqual([{ start: { acme: 1, umbrella: 1 } }]);
  });

  it("misses no event if it resumes from its start cursor", async () => {
    const { follow, append } = setup();
    await append(3);
    const stopped = await follow();
    stopped.stop();
    await append(2);
    const resumed = await follow({ after: [["acme", stopped.cursor.get("acme") ?? 0]] });
    await expect.poll(() => resumed.seen).toEqual([4, 5]);
  });

  it("advances its cursor past events that its filter excludes", async () => {
    const { follow, append } = setup();
    const { seen, cursor } = await follow({ filter: { type: "push" } });
    await append(1, "acme", { type: "push" });
    await append(4);
    await expect.poll(() => cursor.get("acme")).toBe(5);
    expect(seen).toEqual([1]);
  });

  it("gets the current state of events that changed after they were cached", async () => {
    let onRead = async () => {};
    const listeners: ((notice: Notice) => void)[] = [];
    const { store, follow, append } = setup((real) => ({
      subscribe(listener) {
        listeners.push(listener);
        return real.subscribe((notice) => notice.topic === "events" && listener(notice));
      },
      async listEvents(query) {
        const page = await real.listEvents(query);
        await onRead();
        return page;
      },
    }));
    const first = await follow();
    await append(3);
    await expect.poll(() => first.seen).toEqual(upTo(3));
    const { items } = await store.listEvents({ tenant: "acme", limit: 10, order: "oldest" });
    const mark = (seq: number) =>
      store.markProcessed("acme", [itemAt(items, seq - 1).id], START, null);
    const notifyAll = (notice: Notice) => {
      for (const listener of listeners) listener(notice);
    };
    /** Follows from `seq`. Returns a function that returns the received seqs, negative if processed. */
    const followFrom = async (seq: number) => {
      const { rows } = await follow({ after: [["acme", seq]] });
      return () => rows.map(({ seq, processed }) => (processed ? -seq : seq));
    };
    await mark(2);
    notifyAll({ topic: "changed", tenant: "acme", ids: [itemAt(items, 1).id, "another"] });
    await expect.poll(await followFrom(0)).toEqual([1, -2, 3]);
    await expect.poll(await followFrom(2)).toEqual([3]);

    // After a notice of a gap, any event may have changed.
    await mark(3);
    notifyAll({ topic: "gap" });
    await expect.poll(await followFrom(2)).toEqual([-3]);

    // The event changes while it is read.
    for (const notice of [
      (id: string): Notice => ({ topic: "changed", tenant: "acme", ids: [id] }),
      (): Notice => ({ topic: "gap" }),
    ]) {
      const event = sampleEvent();
      onRead = async () => {
        onRead = async () => {};
        await store.markProcessed("acme", [event.id], START, null);
        notifyAll(notice(event.id));
      };
      const seq = itemAt(await appendEvents(store, [event]), 0);
      await expect.poll(() => first.seen.at(-1)).toBe(seq);
      await expect.poll(await followFrom(seq - 1)).toEqual([-seq]);
    }
  });

  it("is notified if retention has removed events after its cursor, even if another follower has received them", async () => {
    const { store, follow, append } = setup();
    await follow();
    await append(3);
    const { items } = await store.listEvents({ tenant: "acme", limit: 10, order: "oldest" });
    await store.markProcessed("acme", [itemAt(items, 0).id, itemAt(items, 1).id], START, null);
    await store.sweep({
      now: START,
      processedFor: 0,
      pendingFor: 90 * DAY,
      maxBytes: 1e12,
      limit: 10,
    });
    const late = await follow({ after: [["acme", 1]] });
    expect(late.notices).toEqual([{ start: { acme: 1 } }, { pruned: "acme" }]);
    await expect.poll(() => late.seen.at(-1)).toBe(3);
    expect((await follow({ after: [["acme", 2]] })).notices).toEqual([{ start: { acme: 2 } }]);
  });

  it("is notified if its cursor is ahead of the log, and gets only new events", async () => {
    const { follow, append } = setup();
    await append(3);
    const ahead = await follow({
      tenants: ["acme", "umbrella"],
      after: [
        ["acme", 900],
        ["umbrella", 1],
      ],
    });
    expect(ahead.notices).toEqual([
      { start: { acme: 3, umbrella: 0 } },
      { ahead: "acme" },
      { ahead: "umbrella" },
    ]);
    await append(2);
    await append(1, "umbrella");
    await expect.poll(() => ahead.seen.toSorted()).toEqual([1, 4, 5]);
  });

  it("is not ahead of the log if this replica has not read the newest events yet", async () => {
    const listeners: ((notice: Notice) => void)[] = [];
    const { follow, append } = setup(() => ({
      subscribe(listener) {
        listeners.push(listener);
        return () => {};
      },
    }));
    const first = await follow();
    await append(4);
    const reconnected = await follow({ after: [["acme", 3]] });
    expect(reconnected.notices).toEqual([{ start: { acme: 3 } }]);
    for (const listener of listeners) listener({ topic: "gap" });
    await expect.poll(() => first.seen).toEqual(upTo(4));
    expect(reconnected.seen).toEqual([4]);
  });

  describe("of a log that has lost its newest events, whose numbers are used again", () => {
    /** `loseAfter` deletes the events after `seq`, as a failover to an asynchronous standby does. */
    function setupFailover(override?: (store: Store) => Partial<FeedStore>) {
      const listeners: ((notice: Notice) => void)[] = [];
      const { store, file, ...rest } = setup((store) => ({
        ...override?.(store),
        subscribe(listener) {
          listeners.push(listener);
          return store.subscribe(listener);
        },
      }));
      const loseAfter = (seq: number) => {
        const db = new Database(file);
        db.prepare("DELETE FROM events WHERE seq > ?").run(seq);
        db.prepare("UPDATE tenants SET seq = ?").run(seq);
        db.close();
      };
      const reconnect = () => {
        for (const listener of listeners) listener({ topic: "gap" });
      };
      return { store, ...rest, loseAfter, reconnect };
    }

    it("is notified, and gets the new events", async () => {
      const { follow, append, loseAfter, reconnect } = setupFailover();
      const follower = await follow({ after: [["acme", 0]] });
      const behind = await follow({ after: [["acme", 0]], capacity: 2 });
      await append(600);
      await expect.poll(() => follower.seen.length).toBe(600);
      loseAfter(590);
      await append(3);
      reconnect();
      await append(9);
      await expect.poll(() => follower.seen.at(-1)).toBe(602);
      expect(follower.seen).toEqual([...upTo(600), ...upTo(602, 591)]);
      expect(follower.notices).toEqual([{ start: { acme: 0 } }, { ahead: "acme" }]);
      // It has received no event that was lost.
      behind.drain(Number.POSITIVE_INFINITY);
      await expect.poll(() => behind.seen).toEqual(upTo(602));
      expect(behind.notices).toEqual([{ start: { acme: 0 } }]);
    });

    it("is notified if it has received no event yet", async () => {
      const { follow, append, loseAfter, reconnect } = setupFailover();
      await append(5);
      const follower = await follow();
      loseAfter(3);
      await append(3);
      reconnect();
      await expect
        .poll(() => follower.notices)
        .toEqual([{ start: { acme: 5 } }, { ahead: "acme" }]);
      // The cache began with the fifth event, so only the loss of that one is known.
      await expect.poll(() => follower.seen.slice(-2)).toEqual([5, 6]);
    });

    it("is notified if the lost events have changed, so that they are no longer cached", async () => {
      const { store, follow, append, loseAfter, reconnect } = setupFailover();
      const follower = await follow();
      await append(5);
      await expect.poll(() => follower.seen).toEqual(upTo(5));
      const { items } = await store.listEvents({ tenant: "acme", limit: 10, order: "oldest" });
      await store.markProcessed("acme", [itemAt(items, 4).id], START, null);
      const late = await follow({ after: [["acme", 0]] });
      await expect.poll(() => late.seen).toEqual(upTo(5));
      loseAfter(3);
      await append(2);
      reconnect();
      await expect.poll(() => follower.seen).toEqual([...upTo(5), 4, 5]);
      expect(follower.notices).toContainEqual({ ahead: "acme" });
    });

    it("gets all new events if more events were lost than are read at once", async () => {
      const { follow, append, loseAfter, reconnect } = setupFailover();
      const follower = await follow();
      await append(1_100);
      await expect.poll(() => follower.seen.length).toBe(1_100);
      loseAfter(50);
      await append(1_050);
      reconnect();
      await expect.poll(() => follower.seen).toEqual([...upTo(1_100), ...upTo(1_100, 51)]);
    });

    it("is notified while it reads the log", async () => {
      let onRead = async () => {};
      const { follow, append, loseAfter, reconnect } = setupFailover((store) => ({
        async listEvents(query) {
          const page = await store.listEvents(query);
          const then = onRead;
          if (query.order === "oldest" && query.cursor === 0) {
            onRead = async () => {};
            await then();
          }
          return page;
        },
      }));
      await append(5);
      const live = await follow();
      await append(1);
      await expect.poll(() => live.seen).toEqual([6]);
      onRead = async () => {
        loseAfter(4);
        await append(3);
        reconnect();
        await expect.poll(() => live.notices).toContainEqual({ ahead: "acme" });
      };
      const late = await follow({ after: [["acme", 0]] });
      await expect.poll(() => live.seen.at(-1)).toBe(7);
      await expect.poll(() => late.seen.at(-1)).toBe(7);
      expect(new Set(late.seen)).toEqual(new Set(upTo(7)));
    });

    it("is not notified if retention has deleted the events", async () => {
      const { store, follow, append, reconnect } = setupFailover();
      const follower = await follow();
      await append(3);
      await expect.poll(() => follower.seen).toEqual(upTo(3));
      const { items } = await store.listEvents({ tenant: "acme", limit: 10, order: "oldest" });
      await store.markProcessed("acme", [itemAt(items, 1).id, itemAt(items, 2).id], START, null);
      const retention = { now: START, processedFor: 0, pendingFor: DAY, maxBytes: 1e12, limit: 10 };
      await store.sweep(retention);
      reconnect();
      await append(1);
      await expect.poll(() => follower.seen).toEqual(upTo(4));
      expect(follower.notices).toEqual([{ start: { acme: 0 } }]);
    });

    it("is notified if its cursor is from before a failover, and gets the events after it", async () => {
      const { follow, append } = setupFailover();
      await append(5);
      const { notices, seen } = await follow({ after: [["acme", 3]], isBeforeFailover: true });
      expect(notices).toEqual([{ start: { acme: 3 } }, { ahead: "acme" }]);
      await expect.poll(() => seen).toEqual([4, 5]);
    });
  });

  it("gets events after a failed read, which is retried with a delay", async () => {
    const errors: unknown[] = [];
    let failing = false;
    let reads = 0;
    const { follow, append } = setup(
      (store) => ({
        async listEvents(query) {
          reads += 1;
          if (failing) throw new Error("no database");
          return store.listEvents(query);
        },
      }),
      (error) => errors.push(error),
    );
    await append(5);
    const live = await follow();
    failing = true;
    await append(1);
    await expect.poll(() => errors.length).toBeGreaterThan(1);
    const behind = await follow({ after: [["acme", 0]] });
    expect(behind.seen).toEqual([]);
    const before = reads;
    for (let ticks = 0; ticks < 100; ticks += 1) await Promise.resolve();
    expect(reads).toBe(before);
    failing = false;
    await append(1);
    await expect.poll(() => behind.seen).toEqual(upTo(7));
    await expect.poll(() => live.seen).toEqual([6, 7]);
  });

  it("is rejected if the log cannot be read, and the next follower is accepted", async () => {
    let failing = true;
    const { follow, append } = setup((store) => ({
      async getTenant(id) {
        if (failing) throw new Error("no database");
        return store.getTenant(id);
      },
    }));
    await expect(follow({ tenants: ["umbrella", "acme"] })).rejects.toThrow("no database");
    failing = false;
    const { seen } = await follow();
    await append(1);
    await expect.poll(() => seen).toEqual([1]);
  });

  it("gets no events after it has stopped", async () => {
    const { follow, append } = setup();
    const stopped = await follow();
    const active = await follow();
    stopped.stop();
    await append(2);
    await expect.poll(() => active.seen).toEqual([1, 2]);
    expect(stopped.seen).toEqual([]);
  });
});
