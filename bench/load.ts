/**
 * The load generator. It is a separate process, so that its CPU time does not count as the server's. It
 * writes prepared requests to raw sockets, one in flight per connection, and reads only the status
 * and the length of a response. Forked by load-process.ts: receives a plan over IPC, sends a report.
 */
import { connect, type Socket } from "node:net";
import { percentile } from "./statistics.ts";

export interface LoadPlan {
  port: number;
  /** Complete HTTP requests, sent round-robin, and the offset of the delivery id in each. */
  templates: { request: Uint8Array; idAt: number }[];
  connections: number;
  /** The load ends at the first of the two limits. */
  requests: number;
  seconds: number;
  /**
   * Requests per second (open loop). If undefined, each response triggers the next request (closed
   * loop).
   */
  rate: number | undefined;
  /** Whether the report has `details`. */
  hasDetails?: boolean;
}

export interface LoadReport {
  completed: number;
  /** Number of responses by status. */
  statuses: Record<string, number>;
  accepted: number;
  /** Requests that were due, and had no response when the load generator gave up. */
  unanswered: number;
  /** Broken connections, and `unanswered`. */
  failures: number;
  /** Whether all responses were 2xx, without failures. */
  isValid: boolean;
  seconds: number;
  perSecond: number;
  /** CPU time of the load generator itself. */
  cpuSeconds: number;
  /** Milliseconds. */
  latency: { p50: number; p90: number; p99: number; max: number };
  details?: {
    /** Sorted milliseconds. */
    latencies: Float64Array;
    /** The first field of the delivery id of each request that got a 2xx response. */
    acknowledged: Uint32Array;
  };
}

/** How long the load generator waits for responses after the last request. */
const GRACE_MS = 15_000;

function run(plan: LoadPlan): Promise<LoadReport> {
  const latencies = new Float64Array(plan.requests);
  const acknowledged: number[] = [];
  const statuses: Record<string, number> = {};
  let sent = 0;
  let completed = 0;
  let brokenConnections = 0;
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  const deadline = started + plan.seconds * 1000;
  const mayStart = () => sent < plan.requests && performance.now() < deadline;

  return new Promise((resolve) => {
    const connections = new Set<Connection>();
    /** Only in the open loop. */
    const idle: Connection[] = [];
    /** Only in the open loop: the due times of requests that wait for a connection. */
    const waiting: number[] = [];
    let ticking: NodeJS.Timeout | undefined;
    const timeout = setTimeout(finish, plan.seconds * 1000 + GRACE_MS);

    function send(connection: Connection, dueAt: number): void {
      connection.send(dueAt);
      sent += 1;
    }

    function onResponse(
      connection: Connection,
      { status, dueAt, id }: { status: string; dueAt: number; id: number },
    ): void {
      const now = performance.now();
      if (plan.hasDetails && status.startsWith("2")) acknowledged.push(id);
      latencies[completed] = now - dueAt;
      completed += 1;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (plan.rate === undefined) {
        if (sent < plan.requests && now < deadline) send(connection, now);
        else close(connection);
        return;
      }
      const next = waiting.shift();
      if (next !== undefined) send(connection, next);
      else idle.push(connection);
    }

    function onBroken(connection: Connection): void {
      brokenConnections += 1;
      close(connection);
    }

    function close(connection: Connection): void {
      connection.end();
      connections.delete(connection);
      if (connections.size === 0) finish();
    }

    /** Sends all requests that are due. Latency includes the wait for a free connection. */
    function tick(rate: number): void {
      const now = performance.now();
      const due = Math.min(plan.requests, Math.floor(((now - started) / 1000) * rate));
      while (sent + waiting.length < due && now < deadline) {
        const connection = idle.shift(); // round-robin, because servers close idle connections
        if (connection) send(connection, now);
        else waiting.push(now);
      }
      if (sent + waiting.length < plan.requests && now < deadline) return;
      if (waiting.length > 0 || completed < sent) return;
      for (const connection of idle.splice(0)) close(connection);
    }

    function finish(): void {
      clearTimeout(timeout);
      clearInterval(ticking);
      for (const connection of connections) connection.end();
      connections.clear();
      const seconds = (performance.now() - started) / 1000;
      const { user, system } = process.cpuUsage(cpuBefore);
      const sorted = latencies.subarray(0, completed).sort();
      const unanswered = sent - completed + waiting.length;
      const failures = brokenConnections + unanswered;
      const accepted = Object.entries(statuses).reduce(
        (sum, [status, count]) => sum + (status.startsWith("2") ? count : 0),
        0,
      );
      resolve({
        completed,
        statuses,
        accepted,
        unanswered,
        failures,
        isValid: failures === 0 && completed > 0 && accepted === completed,
        seconds,
        perSecond: completed / seconds,
        cpuSeconds: (user + system) / 1e6,
        latency: {
          p50: percentile(sorted, 0.5),
          p90: percentile(sorted, 0.9),
          p99: percentile(sorted, 0.99),
          max: percentile(sorted, 1),
        },
        ...(plan.hasDetails && {
          details: { latencies: sorted, acknowledged: Uint32Array.from(acknowledged) },
        }),
      });
    }

    for (let at = 0; at < plan.connections; at += 1) {
      // Connections do not share templates: a request in flight must not be modified.
      const templates = plan.templates.filter((_, index) => index % plan.connections === at);
      const connection: Connection = openConnection(plan.port, templates, {
        ready() {
          if (plan.rate !== undefined) idle.push(connection);
          else if (mayStart()) send(connection, performance.now());
          else close(connection);
        },
        response: (response) => onResponse(connection, response),
        broken: () => onBroken(connection),
      });
      connections.add(connection);
    }
    const { rate } = plan;
    if (rate !== undefined) ticking = setInterval(() => tick(rate), 1);
  });
}

interface Connection {
  send(dueAt: number): void;
  end(): void;
}

function openConnection(
  port: number,
  templates: LoadPlan["templates"],
  on: {
    ready(): void;
    response(response: { status: string; dueAt: number; id: number }): void;
    broken(): void;
  },
): Connection {
  let next = 0;
  let dueAt = 0;
  let id = 0;
  let received = "";
  let isEnded = false;
  const socket: Socket = connect({
    port,
    host: "127.0.0.1",
    noDelay: true,
    // One buffer for all reads avoids streams and allocations.
    onread: {
      buffer: Buffer.allocUnsafe(16 * 1024),
      callback(size, buffer) {
        const chunk = (buffer as Buffer).toString("latin1", 0, size);
        received = received === "" ? chunk : received + chunk;
        if (!isComplete(received)) return true;
        const status = received.slice(9, 12);
        received = "";
        on.response({ status, dueAt, id });
        return true;
      },
    },
  });
  const fail = () => {
    if (!isEnded) on.broken();
  };
  socket.on("connect", on.ready).on("error", fail).on("close", fail);
  return {
    send(at) {
      dueAt = at;
      const { request, idAt } = templates[next % templates.length] as LoadPlan["templates"][number];
      next += 1;
      id = nextTick();
      writeHex(request, idAt, id);
      socket.write(request);
    },
    end() {
      isEnded = true;
      socket.destroy();
    },
  };
}

function isComplete(response: string): boolean {
  const end = response.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(response)?.[1];
  // Without a content length, Node sends chunks and ends with an empty one.
  return length === undefined
    ? response.endsWith("\r\n0\r\n\r\n")
    : response.length >= end + 4 + Number(length);
}

let lastTick = 0;

/**
 * Returns the first field of a UUID version 1, which GitHub uses for delivery ids: the low bits of a
 * clock in units of 100 ns. Consecutive ids are neighbours in an index, as in production.
 */
function nextTick(): number {
  lastTick = Math.max(
    lastTick + 1,
    Math.floor((performance.timeOrigin + performance.now()) * 10_000),
  );
  return lastTick % 2 ** 32;
}

const DIGITS = Buffer.from("0123456789abcdef");

function writeHex(bytes: Uint8Array, at: number, value: number): void {
  for (let digit = 0; digit < 8; digit += 1)
    bytes[at + digit] = DIGITS[(value >>> (28 - 4 * digit)) & 0xf] as number;
}

process.on("message", (plan: LoadPlan) => {
  void run(plan).then((report) => process.send?.(report));
});
process.on("disconnect", () => process.exit());
