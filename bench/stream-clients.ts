/**
 * Many stream clients in one process: raw sockets that share a buffer and parse only the id
 * of each frame. Ids grow by one, so a missing or repeated event is detected. Forked by
 * stream-processes.ts: receives commands over IPC and responds to each.
 */
import { connect } from "node:net";

export type StreamClientsCommand =
  | { command: "open"; port: number; token: string; count: number }
  /**
   * Sent before the events. The response follows when every client has received all of them, or after
   * the timeout.
   */
  | { command: "await"; events: number; timeoutMs: number };

export interface StreamClientsReport {
  /** The smallest and the largest number of events that a client received. */
  min: number;
  max: number;
  /** Frames out of sequence, and broken connections. */
  failures: string[];
  /** Bytes on the wire per event and client. */
  bytesPerEvent: number;
  cpuSeconds: number;
}

interface StreamClient {
  /** The id of the last frame; NaN before the first one. */
  lastId: number;
  received: number;
  unparsed: string;
}

const OPEN_IN_PARALLEL = 100;
const buffer = Buffer.allocUnsafe(256 * 1024);
const clients: StreamClient[] = [];
const failures: string[] = [];
let bytes = 0;
let expectedEvents = Number.POSITIVE_INFINITY;
let finishedClients = 0;
let onFinished = () => {};

function read(client: StreamClient, chunk: string): void {
  const text = client.unparsed === "" ? chunk : client.unparsed + chunk;
  const end = text.lastIndexOf("\n\n");
  if (end < 0) {
    client.unparsed = text;
    return;
  }
  for (let at = text.indexOf("\nid: "); at >= 0 && at < end; at = text.indexOf("\nid: ", at + 5)) {
    const seq = Number.parseInt(text.slice(at + 5, at + 20), 10);
    if (seq === client.lastId) continue; // a heartbeat
    if (seq !== client.lastId + 1 && failures.length < 10)
      failures.push(`event ${seq} followed event ${client.lastId}`);
    client.lastId = seq;
    client.received += 1;
    if (client.received === expectedEvents) {
      finishedClients += 1;
      if (finishedClients === clients.length) onFinished();
    }
  }
  client.unparsed = text.length === end + 4 ? "" : text.slice(end + 2); // the "\r\n" at the end belongs to the HTTP chunk
}

function open(port: number, token: string): Promise<void> {
  const client: StreamClient = { lastId: Number.NaN, received: 0, unparsed: "" };
  clients.push(client);
  return new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: "127.0.0.1",
      onread: {
        buffer, // shared, because each read is processed before the next
        callback(size) {
          const chunk = buffer.toString("latin1", 0, size);
          bytes += size;
          if (!Number.isNaN(client.lastId)) read(client, chunk);
          else {
            // The first frame contains the start cursor.
            client.unparsed += chunk;
            const startCursor = /\nid: (\d+)\n.*\n\n/.exec(client.unparsed)?.[1];
            if (startCursor === undefined) return true;
            client.lastId = Number(startCursor);
            client.unparsed = "";
            resolve();
          }
          return true;
        },
      },
    });
    socket.on("error", reject).on("close", () => {
      if (failures.length < 10)
        failures.push(`a client lost its connection after event ${client.lastId}`);
      reject(new Error(`the server closed the connection: ${client.unparsed.slice(0, 300)}`));
    });
    socket.write(
      `GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
  });
}

async function awaitEvents(events: number, timeoutMs: number): Promise<StreamClientsReport> {
  const cpuBefore = process.cpuUsage();
  bytes = 0;
  finishedClients = 0;
  for (const client of clients) client.received = 0;
  expectedEvents = events;
  await new Promise<void>((resolve) => {
    const timeout = setTimeout(resolve, timeoutMs);
    onFinished = () => {
      clearTimeout(timeout);
      resolve();
    };
  });
  const { user, system } = process.cpuUsage(cpuBefore);
  const received = clients.map((client) => client.received);
  return {
    min: Math.min(...received),
    max: Math.max(...received),
    failures: failures.splice(0),
    bytesPerEvent: bytes / received.reduce((sum, count) => sum + count, 0),
    cpuSeconds: (user + system) / 1e6,
  };
}

process.on("message", async (command: StreamClientsCommand) => {
  if (command.command === "await")
    return process.send?.(await awaitEvents(command.events, command.timeoutMs));
  for (let at = 0; at < command.count; at += OPEN_IN_PARALLEL) {
    const batch = Math.min(OPEN_IN_PARALLEL, command.count - at);
    await Promise.all(Array.from({ length: batch }, () => open(command.port, command.token)));
  }
  return process.send?.("open");
});
process.on("disconnect", () => process.exit());
