import { describe, expect, it } from "vitest";
import { fixedAccess } from "./access.ts";
import { followEvents } from "./follow-events.ts";

const stream = (text: string) =>
  new Response(text, {
    headers: { "content-type": "text/event-stream", date: "Sun, 15 Nov 2026 06:00:00 GMT" },
  });

/** Follows the given responses, one per connection, without delays, then stops. */
async function follow(...responses: (Response | Error)[]) {
  const stop = new AbortController();
  const seen = {
    positions: [] as (string | null)[],
    waits: [] as number[],
    warnings: [] as string[],
  };
  const messages: string[] = [];
  const opened: unknown[] = [];
  let position: string | undefined;
  await followEvents({
    url: "http://hub.example",
    access: fixedAccess("http://hub", "t"),
    position: () => position,
    onOpen: (stream) => opened.push(stream),
    onMessage({ id, data }) {
      if (id !== undefined) position = id;
      messages.push(data);
      return data === "elsewhere" ? "reconnect" : undefined;
    },
    onBadPosition() {
      position = undefined;
    },
    warn: (message) => seen.warnings.push(message),
    signal: stop.signal,
    random: () => 0,
    fetch: async (_, init) => {
      seen.positions.push(new Headers(init?.headers).get("last-event-id"));
      const response = responses.shift();
      if (response instanceof Error) throw response;
      return response ?? new Response(null, { status: 500 });
    },
    wait: async (ms) => {
      seen.waits.push(ms);
      if (responses.length === 0) stop.abort();
    },
  });
  return { ...seen, messages, opened };
}

const down = () => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });

describe("followEvents", () => {
  it("resumes after the last complete message if the stream ends or a connection fails", async () => {
    const { positions, messages, opened } = await follow(
      stream("id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: cut o"),
      down(),
      stream("id: 3\ndata: c\n\n"),
    );
    expect(positions).toEqual([null, "2", "2"]);
    expect(messages).toEqual(["a", "b", "c"]);
    const hubTime = Date.UTC(2026, 10, 15, 6);
    expect(opened).toEqual([
      { hubTime, resumed: false },
      { hubTime, resumed: true },
    ]);
  });

  it("backs off while the hub is down, and reports the outage and its end once", async () => {
    const { waits, warnings } = await follow(down(), down(), down(), stream("data: x\n\n"), down());
    expect(waits).toEqual([125, 250, 500, 125, 250]);
    expect(warnings).toEqual([
      expect.stringContaining("ECONNREFUSED"),
      expect.stringContaining("again"),
      expect.stringContaining("ECONNREFUSED"),
    ]);
  });

  it("reports a rejected token once, and retries slowly", async () => {
    const unauthorized = () => new Response("", { status: 401 });
    const { waits, warnings } = await follow(unauthorized(), unauthorized(), unauthorized());
    expect(warnings).toEqual([expect.stringContaining("SIGNALBOX_TOKEN")]);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(30_000);
  });

  it("continues with new events if the hub rejects the position", async () => {
    const { positions } = await follow(
      stream("id: 9\ndata: a\n\n"),
      new Response("", { status: 400 }),
      stream("data: x\n\n"),
    );
    expect(positions).toEqual([null, "9", null]);
  });

  it("stops reading and reconnects, with a delay, if onMessage requests it", async () => {
    let cancelled = false;
    const body = new ReadableStream({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode("id: 9\ndata: elsewhere\n\ndata: a\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    const headers = { "content-type": "text/event-stream" };
    const { positions, messages, waits, warnings } = await follow(
      new Response(body, { headers }),
      stream("data: b\n\n"),
    );
    expect(positions).toEqual([null, "9"]);
    expect(messages).toEqual(["elsewhere", "b"]);
    expect([cancelled, waits, warnings]).toEqual([true, [125, 125], []]);
  });

  it("rejects a response that is not an event stream", async () => {
    const { messages, warnings } = await follow(new Response("data: x\n\n"));
    expect(messages).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("does not stream events")]);
  });

  it("reconnects after the idle timeout", async () => {
    const stop = new AbortController();
    let connections = 0;
    const warnings: string[] = [];
    await followEvents({
      url: "http://hub.example",
      access: fixedAccess("http://hub", "t"),
      position: () => undefined,
      onOpen: () => {},
      onMessage: () => {},
      onBadPosition: () => {},
      warn: (line) => warnings.push(line),
      signal: stop.signal,
      idleTimeoutMs: 20,
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
    expect(warnings).toEqual([expect.stringContaining("idle timeout")]);
  });
});
