import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Announcement } from "./announcement.ts";
import { type ChannelOptions, createChannel } from "./channel.ts";
import type { BridgeState } from "./state-file.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 15) }));
afterEach(() => void vi.useRealTimers());

const waiting = { id: "e2", type: "issues", source: "github", repo: null, action: null, title: null, sender: null, number: null, receivedAt: "", processed: false }; // biome-ignore format: one event

const nothing: BridgeState = { cursor: null, announced: [] };

function setup(state: BridgeState = nothing, options: Partial<ChannelOptions> = {}) {
  const disk = { state };
  const sent: Announcement[] = [];
  const channel = createChannel({
    file: {
      read: () => disk.state,
      write: (next) => {
        disk.state = next;
      },
    },
    mayWake: () => true,
    send: async (announcement) => void sent.push(announcement),
    lookUp: async () => "gone",
    remindMs: 60_000,
    say: () => {},
    ...options,
  });
  const take = (seq: number, more: Record<string, unknown> = {}) =>
    channel.take({
      id: String(seq),
      event: "message",
      data: JSON.stringify({
        event_id: `e${seq}`,
        type: "issues",
        summary: { title: `t${seq}`, received_at: new Date().toISOString(), ...more },
      }),
    });
  /** A message without an event: the first one, or a heartbeat. */
  const move = (seq: number, message: object = { status: "connected" }) =>
    channel.take({ id: String(seq), event: "message", data: JSON.stringify(message) });
  const ids = () => sent.map(({ meta }) => meta.message_id);
  const open = (resumed: boolean) => channel.opened({ hubTime: Date.now(), resumed });
  return { channel, disk, sent, ids, take, move, open };
}

describe("createChannel", () => {
  it("the first time begins now, and announces at once", async () => {
    const { channel, disk, ids, take, open } = setup();
    expect(channel.position()).toBeUndefined();
    open(false);
    take(4);
    take(5);
    await channel.settled();
    expect(ids()).toEqual(["e4", "e5"]);
    expect(disk.state).toMatchObject({ cursor: "5" });
    expect(channel.position()).toBe("5");
  });

  it("remembers a place only when its announcement was handed over", async () => {
    let fail = false;
    const { channel, disk, take, open } = setup(nothing, {
      send: async () => {
        if (fail) throw new Error("EPIPE");
      },
    });
    open(false);
    take(1);
    await channel.settled();
    fail = true;
    take(2);
    await channel.settled();
    fail = false;
    take(3);
    await channel.settled();
    expect(disk.state.cursor).toBe("1");
  });

  it("tells a small backlog singly, in order, before what comes after", async () => {
    const { channel, disk, ids, take, open } = setup({ ...nothing, cursor: "3" });
    expect(channel.position()).toBe("3");
    open(true);
    for (let seq = 4; seq <= 13; seq += 1) take(seq);
    expect(disk.state.cursor).toBe("3");
    vi.advanceTimersByTime(300);
    take(14);
    await channel.settled();
    expect(ids()).toEqual(Array.from({ length: 11 }, (_, at) => `e${at + 4}`));
    expect(disk.state.cursor).toBe("14");
  });

  it("tells a large one as a digest, without what is processed or may not wake", async () => {
    const { channel, sent, take, open } = setup(
      { ...nothing, cursor: "3" },
      { mayWake: (sender) => sender !== "mallory" },
    );
    open(true);
    for (let seq = 4; seq <= 15; seq += 1) take(seq);
    take(16, { processed: true });
    take(17, { sender: "mallory" });
    vi.advanceTimersByTime(300);
    await channel.settled();
    expect(sent.map(({ content }) => content)).toEqual([expect.stringMatching(/^12 events/)]);
    expect(channel.position()).toBe("17");
  });

  it("does not keep silent over a backlog that never ends", async () => {
    const { channel, sent, take, open } = setup({ ...nothing, cursor: "3" });
    open(true);
    for (let seq = 4; seq < 104; seq += 1) {
      take(seq, { received_at: "2026-01-01T00:00:00.000Z" });
      vi.advanceTimersByTime(100);
    }
    await channel.settled();
    expect(sent).toHaveLength(1);
    vi.advanceTimersByTime(300);
    await channel.settled();
    const counts = sent.map(({ meta }) => Number(meta.count));
    expect(counts.reduce((sum, count) => sum + count)).toBe(100);
  });

  it("is done with the backlog when an event comes that is newer than the connection", async () => {
    const { channel, disk, ids, take, open } = setup({ ...nothing, cursor: "3" });
    open(true);
    take(4);
    take(5, { received_at: new Date(Date.now() + 1_000).toISOString() });
    take(6);
    await channel.settled();
    expect(ids()).toEqual(["e4", "e5", "e6"]);
    expect(disk.state.cursor).toBe("6");
  });

  it("remembers from its very first start where it was, though no event came", async () => {
    const { channel, disk, sent, move, open } = setup();
    open(false);
    move(7);
    await channel.settled();
    expect(disk.state.cursor).toBe("7");
    expect(channel.position()).toBe("7");
    expect(sent).toEqual([]);
  });

  it("gets on with heartbeats, but never past what it has not told yet", async () => {
    let handOver: (() => void) | undefined;
    const { channel, disk, take, move, open } = setup(nothing, {
      send: () =>
        new Promise((resolve) => {
          handOver = resolve;
        }),
    });
    open(false);
    move(1);
    take(2);
    move(5, { heartbeat: 1 });
    await vi.waitUntil(() => handOver);
    expect(disk.state.cursor).toBe("1");
    handOver?.();
    await channel.settled();
    expect(disk.state.cursor).toBe("5");
  });

  it("in a backlog gets on with heartbeats when the backlog is told", async () => {
    const { channel, disk, ids, take, move, open } = setup({ ...nothing, cursor: "3" });
    open(true);
    move(3);
    take(4);
    move(6, { heartbeat: 1 });
    await channel.settled();
    expect(disk.state.cursor).toBe("3");
    vi.advanceTimersByTime(300);
    await channel.settled();
    expect(ids()).toEqual(["e4"]);
    expect(disk.state.cursor).toBe("6");
  });

  it("remembers each of a small backlog on its own: a crash repeats one at the most", async () => {
    const places: (string | null)[] = [];
    const { channel, disk, take, open } = setup(
      { ...nothing, cursor: "3" },
      { send: async () => void places.push(disk.state.cursor) },
    );
    open(true);
    for (let seq = 4; seq <= 7; seq += 1) take(seq);
    vi.advanceTimersByTime(300);
    await channel.settled();
    expect(places).toEqual(["3", "4", "5", "6"]);
    expect(disk.state.cursor).toBe("7");
  });

  it("says that there is a gap, once, and goes on where the hub does", async () => {
    const words: string[] = [];
    const { channel, disk, sent, ids, take, move, open } = setup(
      { ...nothing, cursor: "900" },
      { say: (line) => words.push(line) },
    );
    const truncated = () =>
      channel.take({ id: undefined, event: "truncated", data: '{"truncated":true}' });
    for (let connection = 0; connection < 2; connection += 1) {
      open(true);
      move(3);
      truncated();
    }
    take(4);
    vi.advanceTimersByTime(300);
    await channel.settled();
    expect(sent[0]?.content).toMatch(/^Events may have come in that are not announced/);
    expect(ids()).toEqual(["", "e4"]);
    expect(words).toHaveLength(1);
    expect(disk.state.cursor).toBe("4");
    truncated();
    await channel.settled();
    expect(sent).toHaveLength(3);
  });

  it("begins a log that took the place of another by saying so, or says it the next time", async () => {
    const replaced = { cursor: "0", announced: [], replaced: true };
    let fail = true;
    const send = async () => {
      if (fail) throw new Error("EPIPE");
    };
    const first = setup(replaced, { send });
    await first.channel.settled();
    expect(first.disk.state).toBe(replaced);
    fail = false;
    const { channel, disk, sent, take, move, open } = setup(replaced);
    expect(channel.position()).toBe("0");
    open(true);
    move(0);
    // Of this log too some may be gone already.
    channel.take({ id: undefined, event: "truncated", data: '{"truncated":true}' });
    take(3);
    vi.advanceTimersByTime(300);
    await channel.settled();
    expect(sent.map(({ meta }) => meta.message_id)).toEqual(["", "e3"]);
    expect(disk.state).toMatchObject({ cursor: "3", announced: [{ id: "e3" }] });
  });

  it("goes on from now when its place is not known any more", () => {
    const { channel, disk } = setup({ ...nothing, cursor: "3" });
    channel.forgetPosition();
    expect(channel.position()).toBeUndefined();
    expect(disk.state.cursor).toBeNull();
  });

  it("names again, once, what still waits", async () => {
    let hubIsUp = false;
    const { channel, disk, sent, take, open } = setup(nothing, {
      lookUp: async (id) => (hubIsUp ? (id === "e2" ? { pending: waiting } : "gone") : "unknown"),
    });
    open(false);
    take(1);
    take(2);
    await channel.settled();
    await channel.remind();
    vi.advanceTimersByTime(59_000);
    take(3);
    await channel.settled();
    vi.advanceTimersByTime(1_000);
    await channel.remind();
    expect(sent).toHaveLength(3);
    hubIsUp = true;
    await channel.remind();
    expect(sent).toHaveLength(4);
    expect(sent[3]?.content).toMatch(/^1 event was announced a while ago/);
    expect(disk.state.announced.map(({ id }) => id)).toEqual(["e3"]);
    await channel.remind();
    expect(sent).toHaveLength(4);
  });

  const announced = (...ids: string[]) => ({
    cursor: "9",
    announced: ids.map((id) => ({ id, at: 0 })),
  });
  const pending = async (id: string) => ({ pending: { ...waiting, id } });

  it("names it once, however often it is asked to while the hub is slow", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const { channel, sent, disk } = setup(announced("a", "b"), {
      lookUp: async (id) => {
        await answered;
        return pending(id);
      },
    });
    const reminders = [channel.remind(), channel.remind()];
    answer();
    await Promise.all(reminders);
    expect(sent.map(({ meta }) => meta.count)).toEqual(["2"]);
    expect(disk.state.announced).toEqual([]);
  });

  it("names what it can, and later what the hub could not say", async () => {
    const bad = new Set(["b"]);
    const { channel, sent, disk } = setup(announced("a", "b", "c"), {
      lookUp: async (id) => (bad.has(id) ? "unknown" : pending(id)),
    });
    await channel.remind();
    expect(sent.map(({ meta }) => meta.count)).toEqual(["2"]);
    expect(disk.state.announced.map(({ id }) => id)).toEqual(["b"]);
    await channel.remind();
    expect(sent).toHaveLength(1);
    bad.clear();
    await channel.remind();
    expect(sent[1]?.content).toMatch(/^1 event was announced/);
  });

  it("asks a few at a time, no more when none is answered, and others the next time", async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `e${at}`);
    const asked: string[] = [];
    let [now, most, answers] = [0, 0, false];
    const { channel, sent } = setup(announced(...ids), {
      lookUp: async (id) => {
        asked.push(id);
        now += 1;
        most = Math.max(most, now);
        await Promise.resolve();
        now -= 1;
        return answers ? pending(id) : "unknown";
      },
    });
    await channel.remind();
    await channel.remind();
    expect(asked).toEqual(ids.slice(0, 8));
    answers = true;
    await channel.remind();
    expect(most).toBe(4);
    expect(sent.map(({ meta }) => meta.count)).toEqual(["20"]);
  });

  it("says where it was, also after a restart", async () => {
    const { channel, disk, take, open } = setup();
    open(false);
    take(2, { repo: "octo/town" });
    take(3, { repo: "o".repeat(100_000) });
    await channel.settled();
    channel.stop();
    expect(JSON.stringify(disk.state).length).toBeLessThan(1_000);
    vi.advanceTimersByTime(60_000);
    const next = setup(disk.state, { lookUp: pending });
    await next.channel.remind();
    expect(next.sent[0]?.content).toMatch(/: 1 issues in octo\/town, 1 issues in o{80,100}…?\./);
  });

  it("in a large backlog too, remembers where each was", async () => {
    const { channel, sent, take, open } = setup({ ...nothing, cursor: "3" }, { lookUp: pending });
    open(true);
    for (let seq = 4; seq <= 20; seq += 1) take(seq, { repo: "octo/town" });
    vi.advanceTimersByTime(300);
    await channel.settled();
    vi.advanceTimersByTime(60_000);
    await channel.remind();
    expect(sent[1]?.content).toContain("17 issues in octo/town.");
  });

  it("of the largest remembers the last, as of what is told singly", async () => {
    const { channel, disk, take, open } = setup({ ...nothing, cursor: "0" });
    open(true);
    for (let seq = 1; seq <= 600; seq += 1) take(seq);
    vi.advanceTimersByTime(300);
    await channel.settled();
    expect(disk.state.announced.map(({ id }) => id)).toEqual(
      Array.from({ length: 500 }, (_, at) => `e${at + 101}`),
    );
  });

  it("does not tell of a backlog that somebody has dealt with", async () => {
    const { channel, disk, sent, take, open } = setup({ ...nothing, cursor: "3" });
    open(true);
    for (let seq = 4; seq <= 20; seq += 1) take(seq, { processed: seq !== 9 });
    vi.advanceTimersByTime(300);
    await channel.settled();
    expect(sent.map(({ meta }) => meta.message_id)).toEqual(["e9"]);
    expect(disk.state).toMatchObject({ cursor: "20", announced: [{ id: "e9" }] });
  });
});
