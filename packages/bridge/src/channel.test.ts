import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Announcement } from "./announcement.ts";
import { type ChannelOptions, createChannel } from "./channel.ts";
import type { BridgeState } from "./state-file.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 15) }));
afterEach(() => void vi.useRealTimers());

const pendingEvent = { id: "e2", type: "issues", source: "github", repo: null, action: null, title: null, sender: null, number: null, receivedAt: "", processed: false }; // biome-ignore format: one event

const emptyState: BridgeState = { cursor: null, announced: [] };

function setup(state: BridgeState = emptyState, options: Partial<ChannelOptions> = {}) {
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
    warn: () => {},
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
  /** A message without an event: the first one or a heartbeat. */
  const move = (seq: number, message: object = { status: "connected" }) =>
    channel.take({ id: String(seq), event: "message", data: JSON.stringify(message) });
  const ids = () => sent.map(({ meta }) => meta.message_id);
  const open = (resumed: boolean) => channel.opened({ hubTime: Date.now(), resumed });
  return { channel, disk, sent, ids, take, move, open };
}

describe("createChannel", () => {
  it("announces only new events, immediately, if no cursor is saved", async () => {
    const { channel, disk, ids, take, open } = setup();
    expect(channel.position()).toBeUndefined();
    open(false);
    take(4);
    take(5);
    await channel.drained();
    expect(ids()).toEqual(["e4", "e5"]);
    expect(disk.state).toMatchObject({ cursor: "5" });
    expect(channel.position()).toBe("5");
  });

  it("saves a cursor only after its announcement was sent", async () => {
    let fail = false;
    const { channel, disk, take, open } = setup(emptyState, {
      send: async () => {
        if (fail) throw new Error("EPIPE");
      },
    });
    open(false);
    take(1);
    await channel.drained();
    fail = true;
    take(2);
    await channel.drained();
    fail = false;
    take(3);
    await channel.drained();
    expect(disk.state.cursor).toBe("1");
  });

  it("announces a small backlog event by event, in order, before later events", async () => {
    const { channel, disk, ids, take, open } = setup({ ...emptyState, cursor: "3" });
    expect(channel.position()).toBe("3");
    open(true);
    for (let seq = 4; seq <= 13; seq += 1) take(seq);
    expect(disk.state.cursor).toBe("3");
    vi.advanceTimersByTime(300);
    take(14);
    await channel.drained();
    expect(ids()).toEqual(Array.from({ length: 11 }, (_, at) => `e${at + 4}`));
    expect(disk.state.cursor).toBe("14");
  });

  it("announces a large backlog as a digest, without processed events and excluded senders", async () => {
    const { channel, sent, take, open } = setup(
      { ...emptyState, cursor: "3" },
      { mayWake: (sender) => sender !== "mallory" },
    );
    open(true);
    for (let seq = 4; seq <= 15; seq += 1) take(seq);
    take(16, { processed: true });
    take(17, { sender: "mallory" });
    vi.advanceTimersByTime(300);
    await channel.drained();
    expect(sent.map(({ content }) => content)).toEqual([expect.stringMatching(/^12 events/)]);
    expect(channel.position()).toBe("17");
  });

  it("announces a backlog in parts if it does not end", async () => {
    const { channel, sent, take, open } = setup({ ...emptyState, cursor: "3" });
    open(true);
    for (let seq = 4; seq < 104; seq += 1) {
      take(seq, { received_at: "2026-01-01T00:00:00.000Z" });
      vi.advanceTimersByTime(100);
    }
    await channel.drained();
    expect(sent).toHaveLength(1);
    vi.advanceTimersByTime(300);
    await channel.drained();
    const counts = sent.map(({ meta }) => Number(meta.count));
    expect(counts.reduce((sum, count) => sum + count)).toBe(100);
  });

  it("ends the backlog at an event that is newer than the connection", async () => {
    const { channel, disk, ids, take, open } = setup({ ...emptyState, cursor: "3" });
    open(true);
    take(4);
    take(5, { received_at: new Date(Date.now() + 1_000).toISOString() });
    take(6);
    await channel.drained();
    expect(ids()).toEqual(["e4", "e5", "e6"]);
    expect(disk.state.cursor).toBe("6");
  });

  it("saves the cursor of the first connection without any event", async () => {
    const { channel, disk, sent, move, open } = setup();
    open(false);
    move(7);
    await channel.drained();
    expect(disk.state.cursor).toBe("7");
    expect(channel.position()).toBe("7");
    expect(sent).toEqual([]);
  });

  it("advances with heartbeats, but never past unannounced events", async () => {
    let finishSend: (() => void) | undefined;
    const { channel, disk, take, move, open } = setup(emptyState, {
      send: () =>
        new Promise((resolve) => {
          finishSend = resolve;
        }),
    });
    open(false);
    move(1);
    take(2);
    move(5, { heartbeat: 1 });
    await vi.waitUntil(() => finishSend, 60_000);
    expect(disk.state.cursor).toBe("1");
    finishSend?.();
    await channel.drained();
    expect(disk.state.cursor).toBe("5");
  });

  it("advances with heartbeats after the backlog is announced", async () => {
    const { channel, disk, ids, take, move, open } = setup({ ...emptyState, cursor: "3" });
    open(true);
    move(3);
    take(4);
    move(6, { heartbeat: 1 });
    await channel.drained();
    expect(disk.state.cursor).toBe("3");
    vi.advanceTimersByTime(300);
    await channel.drained();
    expect(ids()).toEqual(["e4"]);
    expect(disk.state.cursor).toBe("6");
  });

  it("saves the cursor after each event of a small backlog", async () => {
    const cursors: (string | null)[] = [];
    const { channel, disk, take, open } = setup(
      { ...emptyState, cursor: "3" },
      { send: async () => void cursors.push(disk.state.cursor) },
    );
    open(true);
    for (let seq = 4; seq <= 7; seq += 1) take(seq);
    vi.advanceTimersByTime(300);
    await channel.drained();
    expect(cursors).toEqual(["3", "4", "5", "6"]);
    expect(disk.state.cursor).toBe("7");
  });

  it("announces a gap once and continues after it", async () => {
    const warnings: string[] = [];
    const { channel, disk, sent, ids, take, move, open } = setup(
      { ...emptyState, cursor: "900" },
      { warn: (line) => warnings.push(line) },
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
    await channel.drained();
    expect(sent[0]?.content).toMatch(/^Events may be missing from this channel/);
    expect(ids()).toEqual(["", "e4"]);
    expect(warnings).toHaveLength(1);
    expect(disk.state.cursor).toBe("4");
    truncated();
    await channel.drained();
    expect(sent).toHaveLength(3);
  });

  it("announces that the log was replaced, at the next start if sending fails", async () => {
    const replaced = { cursor: "0", announced: [], replaced: true };
    let fail = true;
    const send = async () => {
      if (fail) throw new Error("EPIPE");
    };
    const first = setup(replaced, { send });
    await first.channel.drained();
    expect(first.disk.state).toBe(replaced);
    fail = false;
    const { channel, disk, sent, take, move, open } = setup(replaced);
    expect(channel.position()).toBe("0");
    open(true);
    move(0);
    // Events of the new log may be deleted too.
    channel.take({ id: undefined, event: "truncated", data: '{"truncated":true}' });
    take(3);
    vi.advanceTimersByTime(300);
    await channel.drained();
    expect(sent.map(({ meta }) => meta.message_id)).toEqual(["", "e3"]);
    expect(disk.state).toMatchObject({ cursor: "3", announced: [{ id: "e3" }] });
  });

  it("continues with new events after a reset of its position", () => {
    const { channel, disk } = setup({ ...emptyState, cursor: "3" });
    channel.resetPosition();
    expect(channel.position()).toBeUndefined();
    expect(disk.state.cursor).toBeNull();
  });

  it("announces events once more if they are still pending", async () => {
    let hubIsUp = false;
    const { channel, disk, sent, take, open } = setup(emptyState, {
      lookUp: async (id) =>
        hubIsUp ? (id === "e2" ? { pending: pendingEvent } : "gone") : "unknown",
    });
    open(false);
    take(1);
    take(2);
    await channel.drained();
    await channel.remind();
    vi.advanceTimersByTime(59_000);
    take(3);
    await channel.drained();
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
  const pending = async (id: string) => ({ pending: { ...pendingEvent, id } });

  it("sends one reminder for concurrent calls", async () => {
    const { promise: responded, resolve: respond } = Promise.withResolvers<void>();
    const { channel, sent, disk } = setup(announced("a", "b"), {
      lookUp: async (id) => {
        await responded;
        return pending(id);
      },
    });
    const reminders = [channel.remind(), channel.remind()];
    respond();
    await Promise.all(reminders);
    expect(sent.map(({ meta }) => meta.count)).toEqual(["2"]);
    expect(disk.state.announced).toEqual([]);
  });

  it("reminds later of events whose lookup failed", async () => {
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

  it("looks up four events in parallel, stops if all fail, and starts with others next time", async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `e${at}`);
    const lookedUp: string[] = [];
    let [running, max, hubIsUp] = [0, 0, false];
    const { channel, sent } = setup(announced(...ids), {
      lookUp: async (id) => {
        lookedUp.push(id);
        running += 1;
        max = Math.max(max, running);
        await Promise.resolve();
        running -= 1;
        return hubIsUp ? pending(id) : "unknown";
      },
    });
    await channel.remind();
    await channel.remind();
    expect(lookedUp).toEqual(ids.slice(0, 8));
    hubIsUp = true;
    await channel.remind();
    expect(max).toBe(4);
    expect(sent.map(({ meta }) => meta.count)).toEqual(["20"]);
  });

  it("names the repository in a reminder after a restart", async () => {
    const { channel, disk, take, open } = setup();
    open(false);
    take(2, { repo: "octo/town" });
    take(3, { repo: "o".repeat(100_000) });
    await channel.drained();
    channel.stop();
    expect(JSON.stringify(disk.state).length).toBeLessThan(1_000);
    vi.advanceTimersByTime(60_000);
    const next = setup(disk.state, { lookUp: pending });
    await next.channel.remind();
    expect(next.sent[0]?.content).toMatch(/: 1 issues in octo\/town, 1 issues in o{80,100}…?\./);
  });

  it("names the repositories of a large backlog in the reminder", async () => {
    const { channel, sent, take, open } = setup(
      { ...emptyState, cursor: "3" },
      { lookUp: pending },
    );
    open(true);
    for (let seq = 4; seq <= 20; seq += 1) take(seq, { repo: "octo/town" });
    vi.advanceTimersByTime(300);
    await channel.drained();
    vi.advanceTimersByTime(60_000);
    await channel.remind();
    expect(sent[1]?.content).toContain("17 issues in octo/town.");
  });

  it("saves only the last 500 events of a larger backlog", async () => {
    const { channel, disk, take, open } = setup({ ...emptyState, cursor: "0" });
    open(true);
    for (let seq = 1; seq <= 600; seq += 1) take(seq);
    vi.advanceTimersByTime(300);
    await channel.drained();
    expect(disk.state.announced.map(({ id }) => id)).toEqual(
      Array.from({ length: 500 }, (_, at) => `e${at + 101}`),
    );
  });

  it("announces only the unprocessed events of a backlog", async () => {
    const { channel, disk, sent, take, open } = setup({ ...emptyState, cursor: "3" });
    open(true);
    for (let seq = 4; seq <= 20; seq += 1) take(seq, { processed: seq !== 9 });
    vi.advanceTimersByTime(300);
    await channel.drained();
    expect(sent.map(({ meta }) => meta.message_id)).toEqual(["e9"]);
    expect(disk.state).toMatchObject({ cursor: "20", announced: [{ id: "e9" }] });
  });
});
