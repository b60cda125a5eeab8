import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { DAY, keep, nth, START, sampleEvent } from "../store/contract/sample.ts";
import { createFeed, type Filter, type Follower } from "./feed.ts";

function setup() {
  const store = openSqlite(`${tempFolder()}/x.db`);
  const feed = createFeed(store, (error) => {
    throw error;
  });
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
    } = {},
  ) => {
    const seen: number[] = [];
    const cut: string[] = [];
    let room = options.room ?? Number.POSITIVE_INFINITY;
    const follower: Follower = await feed.follow({
      tenants: options.tenants ?? ["acme"],
      after: new Map(options.after ?? []),
      filter: options.filter ?? {},
      sink: {
        event(event, cursor) {
          expect(cursor.get(event.tenant)).toBe(event.seq);
          seen.push(event.seq);
          room -= 1;
        },
        truncated: (tenant) => cut.push(tenant),
        isFull: () => room <= 0,
      },
    });
    const more = (amount: number) => {
      room = amount;
      follower.resume();
    };
    return { seen, cut, more, stop: follower.stop };
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

  it("is told when retention has removed what it missed", async () => {
    const { store, follow, append } = setup();
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
    expect(late.cut).toEqual(["acme"]);
    await expect.poll(() => late.seen).toEqual([3]);
    expect((await follow({ after: [["acme", 2]] })).cut).toEqual([]);
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
