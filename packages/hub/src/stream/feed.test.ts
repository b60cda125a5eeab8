import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { DAY, keep, nth, START, sampleEvent } from "../store/contract/sample.ts";
import type { Notice } from "../store/sql.ts";
import type { EventRow, Store } from "../store/store.ts";
import { createFeed, type Filter, type Follower } from "./feed.ts";

type Read = Pick<Store, "getTenant" | "listEvents" | "subscribe">;

/** `through` stands between the feed and the store. */
function setup(
  through: (store: Store) => Partial<Read> = () => ({}),
  onError: (error: unknown) => void = (error) => {
    throw error;
  },
) {
  const store = openSqlite(`${tempFolder()}/x.db`);
  const between: Read = {
    getTenant: store.getTenant,
    listEvents: store.listEvents,
    subscribe: store.subscribe,
    ...through(store),
  };
  const feed = createFeed(between, onError, 5);
  onTestFinished(async () => {
    feed.close();
    await store.close();
  });
  const follow = async (
    options: {
      tenants?: string[];
      after?: [string, number][];
      filter?: Filter;
      room?: number;
      onEvent?: (follower: Follower | undefined) => void;
    } = {},
  ) => {
    const seen: number[] = [];
    const rows: EventRow[] = [];
    let follower: Follower | undefined;
    /** What comes before the events. */
    const told: unknown[] = [];
    let room = options.room ?? Number.POSITIVE_INFINITY;
    follower = await feed.follow({
      tenants: options.tenants ?? ["acme"],
      after: new Map(options.after ?? []),
      filter: options.filter ?? {},
      sink: {
        start(cursor) {
          expect(seen).toEqual([]);
          told.push({ start: Object.fromEntries(cursor) });
        },
        event(event, cursor) {
          expect(cursor.get(event.tenant)).toBe(event.seq);
          seen.push(event.seq);
          rows.push(event);
          room -= 1;
          options.onEvent?.(follower);
        },
        truncated: (tenant, why) => told.push({ [why]: tenant }),
        isFull: () => room <= 0,
      },
    });
    const more = (amount: number) => {
      room = amount;
      follower?.resume();
    };
    return { seen, rows, told, more, stop: follower.stop, cursor: follower.cursor };
  };
  const append = (count: number, tenant = "acme", given = {}) =>
    keep(
      store,
      Array.from({ length: count }, () => sampleEvent(given)),
      tenant,
    );
  return { store, follow, append };
}

const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

describe("a follower", () => {
  it("sees what is stored from now on, in order, and nothing of before", async () => {
    const { follow, append } = setup();
    await append(3);
    const { seen } = await follow();
    await append(2);
    await append(1);
    await expect.poll(() => seen).toEqual([4, 5, 6]);
  });

  it("goes on after its cursor without gap or repetition, however far behind", async () => {
    const { follow, append } = setup();
    await append(900);
    const { seen } = await follow({ after: [["acme", 10]] });
    await append(50);
    await expect.poll(() => seen.length).toBe(940);
    expect(seen).toEqual(upTo(950, 11));
  });

  it("misses nothing that is stored while it connects", async () => {
    const { follow, append } = setup();
    await append(5);
    const connecting = follow({ after: [["acme", 0]] });
    await append(20);
    const { seen } = await connecting;
    await append(20);
    await expect.poll(() => seen).toEqual(upTo(45));
  });

  it("that is full is left alone, and goes on when there is room, from memory and from the log", async () => {
    const { follow, append } = setup();
    const slow = await follow({ after: [["acme", 0]], room: 3 });
    const quick = await follow({ after: [["acme", 0]] });
    for (let batch = 0; batch < 6; batch += 1) await append(500);
    await expect.poll(() => quick.seen.length).toBe(3_000);
    expect(slow.seen).toEqual([1, 2, 3]);
    slow.more(10);
    await expect.poll(() => slow.seen).toEqual(upTo(13));
    slow.more(Number.POSITIVE_INFINITY);
    await expect.poll(() => slow.seen.length).toBe(3_000);
    expect(slow.seen).toEqual(upTo(3_000));
  });

  it("may say at any moment that there is room", async () => {
    const { follow, append } = setup();
    const { seen } = await follow({ onEvent: (follower) => follower?.resume() });
    await append(5);
    await append(5);
    await expect.poll(() => seen.at(-1)).toBe(10);
    expect(seen).toEqual(upTo(10));
  });

  it("that finds nothing left misses nothing that comes while it looks", async () => {
    let meanwhile: (() => Promise<unknown>) | undefined;
    const { store, follow, append } = setup((store) => ({
      async listEvents(query) {
        const page = await store.listEvents(query);
        // What is new is heard of before the empty page of the past is looked at.
        if (query.cursor === 1 && page.items.length === 0) {
          const during = meanwhile;
          meanwhile = undefined;
          await during?.();
        }
        return page;
      },
    }));
    const other = await follow();
    await append(2_500);
    await expect.poll(() => other.seen.length).toBe(2_500);
    const all = await Promise.all(
      [0, 500, 1_000, 1_500, 2_000].map((cursor) =>
        store.listEvents({ tenant: "acme", limit: 500, order: "oldest", cursor }),
      ),
    );
    for (const { items } of all)
      await store.markProcessed("acme", items.map(({ id }) => id), START, null); // biome-ignore format: one call
    const retention = { now: START, processedFor: 0, pendingFor: DAY, maxBytes: 1e12, limit: 500 };
    while ((await store.sweep(retention)).more);
    meanwhile = async () => {
      await append(1);
      await expect.poll(() => other.seen.at(-1)).toBe(2_501);
    };
    const late = await follow({ after: [["acme", 1]] });
    await expect.poll(() => late.seen).toEqual([2_501]);
  });

  it("hears of its tenants and what it asked for only", async () => {
    const { follow, append } = setup();
    const mine = await follow({ tenants: ["acme", "umbrella"], filter: { type: "push" } });
    await append(1, "acme", { type: "push" });
    await append(1, "acme");
    await append(1, "stranger", { type: "push" });
    await append(1, "umbrella", { type: "push" });
    await append(1, "acme", { type: "push" });
    await expect.poll(() => mine.seen.toSorted()).toEqual([1, 1, 3]);
  });

  it("is told first where it begins: now, or after its cursor", async () => {
    const { follow, append } = setup();
    await append(3);
    await append(1, "umbrella");
    const fresh = await follow({ tenants: ["acme", "umbrella", "nobody yet"] });
    expect(fresh.told).toEqual([{ start: { acme: 3, umbrella: 1, "nobody yet": 0 } }]);
    const resumed = await follow({ tenants: ["acme", "umbrella"], after: [["acme", 1]] });
    expect(resumed.told).toEqual([{ start: { acme: 1, umbrella: 1 } }]);
  });

  it("misses nothing when it goes on from where it was told that it begins", async () => {
    const { follow, append } = setup();
    await append(3);
    const cut = await follow();
    cut.stop();
    await append(2);
    const again = await follow({ after: [["acme", cut.cursor.get("acme") ?? 0]] });
    await expect.poll(() => again.seen).toEqual([4, 5]);
  });

  it("gets on past what its filter leaves out", async () => {
    const { follow, append } = setup();
    const { seen, cursor } = await follow({ filter: { type: "push" } });
    await append(1, "acme", { type: "push" });
    await append(4);
    await expect.poll(() => cursor.get("acme")).toBe(5);
    expect(seen).toEqual([1]);
  });

  it("sees events as they are, however they changed since others saw them", async () => {
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
      store.markProcessed("acme", [nth(items, seq - 1).id], START, null);
    const tellAll = (notice: Notice) => {
      for (const listener of listeners) listener(notice);
    };
    const from = async (seq: number) => {
      const { rows } = await follow({ after: [["acme", seq]] });
      return () => rows.map(({ seq, processed }) => (processed ? -seq : seq));
    };
    await mark(2);
    tellAll({ topic: "changed", tenant: "acme", ids: [nth(items, 1).id, "another"] });
    await expect.poll(await from(0)).toEqual([1, -2, 3]);
    await expect.poll(await from(2)).toEqual([3]);

    // Nobody knows what was missed.
    await mark(3);
    tellAll({ topic: "gap" });
    await expect.poll(await from(2)).toEqual([-3]);

    // It changes while it is being read.
    for (const notice of [
      (id: string): Notice => ({ topic: "changed", tenant: "acme", ids: [id] }),
      (): Notice => ({ topic: "gap" }),
    ]) {
      const event = sampleEvent();
      onRead = async () => {
        onRead = async () => {};
        await store.markProcessed("acme", [event.id], START, null);
        tellAll(notice(event.id));
      };
      const seq = nth(await keep(store, [event]), 0);
      await expect.poll(() => first.seen.at(-1)).toBe(seq);
      await expect.poll(await from(seq - 1)).toEqual([-seq]);
    }
  });

  it("is told when retention has removed what it missed, also while others follow", async () => {
    const { store, follow, append } = setup();
    await follow();
    await append(3);
    const { items } = await store.listEvents({ tenant: "acme", limit: 10, order: "oldest" });
    await store.markProcessed("acme", [nth(items, 0).id, nth(items, 1).id], START, null);
    await store.sweep({
      now: START,
      processedFor: 0,
      pendingFor: 90 * DAY,
      maxBytes: 1e12,
      limit: 10,
    });
    const late = await follow({ after: [["acme", 1]] });
    expect(late.told).toEqual([{ start: { acme: 1 } }, { pruned: "acme" }]);
    await expect.poll(() => late.seen.at(-1)).toBe(3);
    expect((await follow({ after: [["acme", 2]] })).told).toEqual([{ start: { acme: 2 } }]);
  });

  it("is told when its cursor is ahead of the log, and goes on from now", async () => {
    const { follow, append } = setup();
    await append(3);
    const lost = await follow({
      tenants: ["acme", "umbrella"],
      after: [
        ["acme", 900],
        ["umbrella", 1],
      ],
    });
    expect(lost.told).toEqual([
      { start: { acme: 3, umbrella: 0 } },
      { ahead: "acme" },
      { ahead: "umbrella" },
    ]);
    await append(2);
    await append(1, "umbrella");
    await expect.poll(() => lost.seen.toSorted()).toEqual([1, 4, 5]);
  });

  it("is not ahead of the log where only this replica has not heard yet", async () => {
    const listeners: ((notice: Notice) => void)[] = [];
    const { follow, append } = setup(() => ({
      subscribe(listener) {
        listeners.push(listener);
        return () => {};
      },
    }));
    const first = await follow();
    await append(4);
    const moved = await follow({ after: [["acme", 3]] });
    expect(moved.told).toEqual([{ start: { acme: 3 } }]);
    for (const listener of listeners) listener({ topic: "gap" });
    await expect.poll(() => first.seen).toEqual(upTo(4));
    expect(moved.seen).toEqual([4]);
  });

  it("gets what could not be read at first, with a pause between the attempts", async () => {
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
    for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
    expect(reads).toBe(before);
    failing = false;
    await append(1);
    await expect.poll(() => behind.seen).toEqual(upTo(7));
    await expect.poll(() => live.seen).toEqual([6, 7]);
  });

  it("that could not begin is refused, and the next one can", async () => {
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

  it("that stopped hears no more", async () => {
    const { follow, append } = setup();
    const gone = await follow();
    const there = await follow();
    gone.stop();
    await append(2);
    await expect.poll(() => there.seen).toEqual([1, 2]);
    expect(gone.seen).toEqual([]);
  });
});
