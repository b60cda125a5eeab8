/**
 * Many clients that follow one stream, in a process of its own: raw sockets that share a buffer and
 * look at nothing but the id of each frame. Ids grow by one, so whoever misses an event, or gets one
 * twice, is noticed. Forked by stream-processes.ts; takes orders over IPC and answers each.
 */
import { connect } from "node:net";

export type ReadersOrder =
  | { order: "open"; port: number; token: string; count: number }
  /** Told before the events are sent; answered when every reader has had so many of them. */
  | { order: "await"; events: number; patienceMs: number };

export interface ReadersReport {
  /** Of all readers: the one that had the fewest, and the one that had the most. */
  least: number;
  most: number;
  /** Frames that did not follow the one before; connections that broke. */
  failures: string[];
  /** Off the wire, of one event to one reader. */
  bytesPerEvent: number;
  cpuSeconds: number;
}

interface Reader {
  last: number;
  seen: number;
  rest: string;
}

const AT_ONCE = 100;
const buffer = Buffer.allocUnsafe(256 * 1024);
const readers: Reader[] = [];
const failures: string[] = [];
let bytes = 0;
let wanted = Number.POSITIVE_INFINITY;
let finished = 0;
let onFinished = () => {};

function read(reader: Reader, chunk: string): void {
  const text = reader.rest === "" ? chunk : reader.rest + chunk;
  const end = text.lastIndexOf("\n\n");
  if (end < 0) {
    reader.rest = text;
    return;
  }
  for (let at = text.indexOf("\nid: "); at >= 0 && at < end; at = text.indexOf("\nid: ", at + 5)) {
    const seq = Number.parseInt(text.slice(at + 5, at + 20), 10);
    if (seq === reader.last) continue; // a heartbeat
    if (seq !== reader.last + 1 && failures.length < 10)
      failures.push(`${seq} came after ${reader.last}`);
    reader.last = seq;
    reader.seen += 1;
    if (reader.seen === wanted) {
      finished += 1;
      if (finished === readers.length) onFinished();
    }
  }
  reader.rest = text.length === end + 4 ? "" : text.slice(end + 2); // "\r\n" ends a chunk
}

function open(port: number, token: string): Promise<void> {
  const reader: Reader = { last: Number.NaN, seen: 0, rest: "" };
  readers.push(reader);
  return new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: "127.0.0.1",
      onread: {
        buffer, // shared: what was read is looked at before the next read
        callback(size) {
          const chunk = buffer.toString("latin1", 0, size);
          bytes += size;
          if (!Number.isNaN(reader.last)) read(reader, chunk);
          else {
            // The first frame says from where.
            reader.rest += chunk;
            const first = /\nid: (\d+)\n.*\n\n/.exec(reader.rest)?.[1];
            if (first === undefined) return true;
            reader.last = Number(first);
            reader.rest = "";
            resolve();
          }
          return true;
        },
      },
    });
    socket.on("error", reject).on("close", () => {
      if (failures.length < 10) failures.push(`a reader lost its connection after ${reader.last}`);
      reject(new Error(`the server hung up: ${reader.rest.slice(0, 300)}`));
    });
    socket.write(
      `GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
  });
}

async function awaitEvents(events: number, patienceMs: number): Promise<ReadersReport> {
  const cpuBefore = process.cpuUsage();
  bytes = 0;
  finished = 0;
  for (const reader of readers) reader.seen = 0;
  wanted = events;
  await new Promise<void>((resolve) => {
    const impatience = setTimeout(resolve, patienceMs);
    onFinished = () => {
      clearTimeout(impatience);
      resolve();
    };
  });
  const { user, system } = process.cpuUsage(cpuBefore);
  const seen = readers.map((reader) => reader.seen);
  return {
    least: Math.min(...seen),
    most: Math.max(...seen),
    failures: failures.splice(0),
    bytesPerEvent: bytes / seen.reduce((sum, count) => sum + count, 0),
    cpuSeconds: (user + system) / 1e6,
  };
}

process.on("message", async (told: ReadersOrder) => {
  if (told.order === "await")
    return process.send?.(await awaitEvents(told.events, told.patienceMs));
  for (let at = 0; at < told.count; at += AT_ONCE) {
    const some = Math.min(AT_ONCE, told.count - at);
    await Promise.all(Array.from({ length: some }, () => open(told.port, told.token)));
  }
  return process.send?.("open");
});
process.on("disconnect", () => process.exit());
