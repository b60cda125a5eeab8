/** Stream clients that reconnect when they are disconnected, and resume after their last cursor. */
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { openSse, type SseReader } from "./sse.ts";

interface Connection {
  /** Ids of the received events, in order. */
  ids(): string[];
  /** The last received cursor. */
  cursor(): string | undefined;
  /** Closes the connection without a closing handshake. */
  disconnect(): void;
  ended: Promise<unknown>;
}

export type Open = (after: string | undefined) => Promise<Connection>;

export interface ResumingClient {
  /** Ids of the events of all connections, in order. */
  ids(): string[];
  cursor(): string | undefined;
  disconnect(): void;
  stop(): Promise<void>;
}

export function createResumingClient(open: Open): ResumingClient {
  const earlierIds: string[] = [];
  let cursor: string | undefined;
  let current: Connection | undefined;
  let isStopping = false;
  const running = (async () => {
    while (!isStopping) {
      // Fails while the hub is down.
      current = await open(cursor).catch(() => undefined);
      if (isStopping) current?.disconnect();
      await current?.ended;
      earlierIds.push(...(current?.ids() ?? []));
      cursor = current?.cursor() ?? cursor;
      current = undefined;
      await sleep(10);
    }
  })();
  return {
    ids: () => [...earlierIds, ...(current?.ids() ?? [])],
    cursor: () => current?.cursor() ?? cursor,
    disconnect: () => current?.disconnect(),
    async stop() {
      isStopping = true;
      current?.disconnect();
      await running;
    },
  };
}

type Headers = Record<string, string>;

export const overSse =
  (url: string, headers: Headers): Open =>
  async (after) => {
    const resumeHeader = after === undefined ? {} : { "last-event-id": after };
    const reader = await openSse(`${url}/events`, { ...headers, ...resumeHeader });
    return {
      ids: () => stringsOf(reader, ({ event_id }) => event_id),
      cursor: reader.lastId,
      disconnect: reader.close,
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
    return { ids: () => ids, cursor: () => cursor, disconnect: () => socket.terminate(), ended };
  };

const PROTOCOL_VERSION = "2026-07-28";

/** Opens `events/stream` of the MCP Events draft, whose event ids are the delivery ids of the senders. */
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
    const paramsOf = (data: Record<string, unknown>) => (data.params ?? {}) as EventParams;
    return {
      ids: () => stringsOf(reader, (data) => paramsOf(data).eventId),
      cursor: () => stringsOf(reader, (data) => paramsOf(data).cursor).at(-1),
      disconnect: reader.close,
      ended: reader.ended,
    };
  };

interface EventParams {
  eventId?: string;
  cursor?: string;
}

const stringsOf = (reader: SseReader, pick: (data: Record<string, unknown>) => unknown): string[] =>
  reader.messages.map(({ data }) => pick(data)).filter((value) => typeof value === "string");
