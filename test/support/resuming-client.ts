/** Stream clients that are disconnected by the test and resume after their last cursor. */
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { openSse, type SseReader } from "./sse.ts";

interface Connection {
  /** Ids of the received events, in order. */
  ids(): string[];
  /** The last received cursor. */
  cursor(): string | undefined;
  /** Closes the connection without a handshake. */
  cut(): void;
  ended: Promise<unknown>;
}

export type Open = (after: string | undefined) => Promise<Connection>;

export interface ResumingClient {
  /** Ids of the events of all connections. */
  seen(): string[];
  cursor(): string | undefined;
  cut(): void;
  stop(): Promise<void>;
}

export function createResumingClient(open: Open): ResumingClient {
  const seen: string[] = [];
  let cursor: string | undefined;
  let current: Connection | undefined;
  let stopping = false;
  const running = (async () => {
    while (!stopping) {
      current = await open(cursor).catch(() => undefined); // the hub is down
      if (stopping) current?.cut();
      await current?.ended;
      seen.push(...(current?.ids() ?? []));
      cursor = current?.cursor() ?? cursor;
      current = undefined;
      await sleep(10);
    }
  })();
  return {
    seen: () => [...seen, ...(current?.ids() ?? [])],
    cursor: () => current?.cursor() ?? cursor,
    cut: () => current?.cut(),
    async stop() {
      stopping = true;
      current?.cut();
      await running;
    },
  };
}

type Headers = Record<string, string>;

export const overSse =
  (url: string, headers: Headers): Open =>
  async (after) => {
    const last = after === undefined ? {} : { "last-event-id": after };
    const reader = await openSse(`${url}/events`, { ...headers, ...last });
    return {
      ids: () => textsOf(reader, ({ event_id }) => event_id),
      cursor: reader.lastId,
      cut: reader.close,
      ended: reader.ended,
    };
  };

export const overWebSocket =
  (url: string, headers: Headers): Open =>
  async (after) => {
    const path = after === undefined ? "/events" : `/events?after=${encodeURIComponent(after)}`;
    const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers });
    const ids: string[] = [];
    let cursor: string | undefined;
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as { event_id?: string; cursor?: string };
      if (message.event_id !== undefined) ids.push(message.event_id);
      cursor = message.cursor ?? cursor;
    });
    socket.on("error", () => {});
    const ended = new Promise((resolve) => socket.on("close", resolve));
    return { ids: () => ids, cursor: () => cursor, cut: () => socket.terminate(), ended };
  };

const PROTOCOL_VERSION = "2026-07-28";

/** `events/stream` of the draft; its event id is the sender's delivery id. */
export const overMcp =
  (url: string, headers: Headers, name: string): Open =>
  async (after) => {
    const method = "events/stream";
    const params = {
      name,
      arguments: {},
      cursor: after ?? null,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
        "io.modelcontextprotocol/clientInfo": { name: "story", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    };
    const reader = await openSse(
      `${url}/mcp`,
      {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": PROTOCOL_VERSION,
        "mcp-method": method,
        "mcp-name": name,
      },
      { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) },
    );
    const paramsOf = (data: Record<string, unknown>) => (data.params ?? {}) as Occurrence;
    return {
      ids: () => textsOf(reader, (data) => paramsOf(data).eventId),
      cursor: () => textsOf(reader, (data) => paramsOf(data).cursor).at(-1),
      cut: reader.close,
      ended: reader.ended,
    };
  };

interface Occurrence {
  eventId?: string;
  cursor?: string;
}

const textsOf = (reader: SseReader, pick: (data: Record<string, unknown>) => unknown): string[] =>
  reader.messages.map(({ data }) => pick(data)).filter((text) => typeof text === "string");
