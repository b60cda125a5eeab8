import { describe, expect, it } from "vitest";
import { followEvents } from "./follow-events.ts";

const stream = (text: string) =>
  new Response(text, {
    headers: { "content-type": "text/event-stream", date: "Sun, 15 Nov 2026 06:00:00 GMT" },
  });

/** Follows through the given answers, one for each connection, without waiting, then stops. */
async function follow(...answers: (Response | Error)[]) {
  const stop = new AbortController();
  const seen = { asked: [] as (string | null)[], waits: [] as number[], words: [] as string[] };
  const messages: string[] = [];
  const opened: unknown[] = [];
  let position: string | undefined;
  await followEvents({
    url: "http://hub.example",
    token: "t",
    position: () => position,
    onOpen: (how) => opened.push(how),
    onMessage({ id, data }) {
      if (id !== undefined) position = id;
      messages.push(data);
      return data === "elsewhere" ? "again" : undefined;
    },
    onBadPosition() {
      position = undefined;
    },
    say: (words) => seen.words.push(words),
    signal: stop.signal,
    random: () => 0,
    fetch: async (_, init) => {
      seen.asked.push(new Headers(init?.headers).get("last-event-id"));
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer ?? new Response(null, { status: 500 });
    },
    wait: async (ms) => {
      seen.waits.push(ms);
      if (answers.length === 0) stop.abort();
    },
  });
  return { ...seen, messages, opened };
}

const down = () => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });

describe("followEvents", () => {
  it("goes on after the last message, however the stream ended", async () => {
    const { asked, messages, opened } = await follow(
      stream("id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: cut o"),
      down(),
      stream("id: 3\ndata: c\n\n"),
    );
    expect(asked).toEqual([null, "2", "2"]);
    expect(messages).toEqual(["a", "b", "c"]);
    const hubTime = Date.UTC(2026, 10, 15, 6);
    expect(opened).toEqual([
      { hubTime, resumed: false },
      { hubTime, resumed: true },
    ]);
  });

  it("waits ever longer while the hub is away, complains once, and says when it is back", async () => {
    const { waits, words } = await follow(down(), down(), down(), stream("data: x\n\n"), down());
    expect(waits).toEqual([125, 250, 500, 125, 250]);
    expect(words).toEqual([
      expect.stringContaining("ECONNREFUSED"),
      expect.stringContaining("again"),
      expect.stringContaining("ECONNREFUSED"),
    ]);
  });

  it("a refused token is said once, and tried slowly", async () => {
    const no = () => new Response("", { status: 401 });
    const { waits, words } = await follow(no(), no(), no());
    expect(words).toEqual([expect.stringContaining("SIGNALBOX_TOKEN")]);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(30_000);
  });

  it("starts from now when the hub does not know its place", async () => {
    const { asked } = await follow(
      stream("id: 9\ndata: a\n\n"),
      new Response("", { status: 400 }),
      stream("data: x\n\n"),
    );
    expect(asked).toEqual([null, "9", null]);
  });

  it("connects again, unhurried, when it is told to, and reads no further", async () => {
    let hungUp = false;
    const body = new ReadableStream({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode("id: 9\ndata: elsewhere\n\ndata: a\n\n")),
      cancel: () => {
        hungUp = true;
      },
    });
    const headers = { "content-type": "text/event-stream" };
    const { asked, messages, waits, words } = await follow(
      new Response(body, { headers }),
      stream("data: b\n\n"),
    );
    expect(asked).toEqual([null, "9"]);
    expect(messages).toEqual(["elsewhere", "b"]);
    expect([hungUp, waits, words]).toEqual([true, [125, 125], []]);
  });

  it("does not take a page for a stream", async () => {
    const { messages, words } = await follow(new Response("data: x\n\n"));
    expect(messages).toEqual([]);
    expect(words).toEqual([expect.stringContaining("does not stream its events")]);
  });

  it("leaves a connection that has fallen silent", async () => {
    const stop = new AbortController();
    let connections = 0;
    const words: string[] = [];
    await followEvents({
      url: "http://hub.example",
      token: undefined,
      position: () => undefined,
      onOpen: () => {},
      onMessage: () => {},
      onBadPosition: () => {},
      say: (line) => words.push(line),
      signal: stop.signal,
      silenceMs: 20,
      wait: async () => {},
      fetch: async (_, init) => {
        connections += 1;
        if (connections === 2) stop.abort();
        return new Promise((_resolve, reject) => {
          const fail = () => reject(init?.signal?.reason);
          if (init?.signal?.aborted) fail();
          init?.signal?.addEventListener("abort", fail);
        });
      },
    });
    expect(connections).toBe(2);
    expect(words).toEqual([expect.stringContaining("silent")]);
  });
});
