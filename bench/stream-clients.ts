/**
 * Many stream clients in one process: raw sockets that share a buffer and parse only the id
 * of each frame. Ids grow by one, so a missing or repeated event is detected. Forked by
 * stream-processes.ts: receives commands over IPC and responds to each.
 */
import { connect } from "node:net";

export type StreamClientsCommand =
  | { command: "open"; port: number; token: string; count: number }
  /** Sent before the events; the response follows when every client has received all of them. */
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
  last: number;
  received: number;
  rest: string;
}

const OPEN_IN_PARALLEL = 100;
const buffer = Buffer.allocUnsafe(256 * 1024);
const clients: StreamClient[] = [];
const failures: string[] = [];
let bytes = 0;
let expected = Number.POSITIVE_INFINITY;
let finished = 0;
let onFinished = () => {};

function read(client: StreamClient, chunk: string): void {
  const text = client.rest === "" ? chunk : client.rest + chunk;
  const end = text.lastIndexOf("\n\n");
  if (end < 0) {
    client.rest = text;
    return;
  }
  for (let at = text.indexOf("\nid: "); at >= 0 && at < end; at = text.indexOf("\nid: ", at + 5)) {
    const seq = Number.parseInt(text.slice(at + 5, at + 20), 10);
    if (seq === client.last) continue; // a heartbeat
    if (seq !== client.last + 1 && failures.length < 10)
      failures.push(`event ${seq} followed event ${client.last}`);
    client.last = seq;
    client.received += 1;
    if (client.received === expected) {
      finished += 1;
      if (finished === clients.length) onFinished();
    }
  }
  client.rest = text.length === end + 4 ? "" : text.slice(end + 2); // "\r\n" ends a chunk
}

function open(port: number, token: string): Promise<void> {
  const client: StreamClient = { last: Number.NaN, received: 0, rest: "" };
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
          if (!Number.isNaN(client.last)) read(client, chunk);
          else {
            // The first frame contains the start cursor.
            client.rest += chunk;
            const first = /\nid: (\d+)\n.*\n\n/.exec(client.rest)?.[1];
            if (first === undefined) return true;
            client.last = Number(first);
            client.rest = "";
            resolve();
          }
          return true;
        },
      },
    });
    socket.on("error", reject).on("close", () => {
      if (failures.length < 10)
        failures.push(`a client lost its connection after event ${client.last}`);
      reject(new Error(`the server closed the connection: ${client.rest.slice(0, 300)}`));
    });
    socket.write(
      `GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
  });
}

async function awaitEvents(events: number, timeoutMs: number): Promise<StreamClientsReport> {
  const cpuBefore = process.cpuUsage();
  bytes = 0;
  finished = 0;
  for (const client of clients) client.received = 0;
  expected = events;
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
