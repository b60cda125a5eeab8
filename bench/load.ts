/**
 * The load generator, as a process of its own so that its CPU is not the server's. Raw sockets,
 * requests built beforehand, one in flight per connection; of an answer it reads the status and the
 * length. Forked by load-process.ts; takes a plan over IPC and answers with a report.
 */
import { connect, type Socket } from "node:net";
import { percentile } from "./statistics.ts";

export interface LoadPlan {
  port: number;
  /** Whole HTTP requests, sent in turn, and where in each the delivery id stands. */
  templates: { request: Uint8Array; idAt: number }[];
  connections: number;
  /** The run ends when either is reached. */
  requests: number;
  seconds: number;
  /** Requests a second, sent whether or not the earlier ones were answered; without, as fast as answers come. */
  rate: number | undefined;
}

export interface LoadReport {
  answered: number;
  /** How many answers there were with each status. */
  statuses: Record<string, number>;
  accepted: number;
  /** Connections that broke, and requests without an answer. */
  failures: number;
  /** All answers were 2xx, and nothing failed. */
  valid: boolean;
  seconds: number;
  perSecond: number;
  /** Of the load generator itself. */
  cpuSeconds: number;
  /** Milliseconds. */
  latency: { p50: number; p90: number; p99: number; max: number };
}

const GRACE_MS = 15_000;

function run(plan: LoadPlan): Promise<LoadReport> {
  const latencies = new Float64Array(plan.requests);
  const statuses: Record<string, number> = {};
  let sent = 0;
  let answered = 0;
  let broken = 0;
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  const deadline = started + plan.seconds * 1000;
  const mayStart = () => sent < plan.requests && performance.now() < deadline;

  return new Promise((resolve) => {
    const connections = new Set<Connection>();
    /** Open loop: who has nothing to do, and when the requests came that found nobody. */
    const idle: Connection[] = [];
    const waiting: number[] = [];
    let ticking: NodeJS.Timeout | undefined;
    const timeout = setTimeout(finish, plan.seconds * 1000 + GRACE_MS);

    function send(connection: Connection, cameAt: number): void {
      connection.send(cameAt);
      sent += 1;
    }

    function onAnswer(connection: Connection, status: string, cameAt: number): void {
      const now = performance.now();
      latencies[answered] = now - cameAt;
      answered += 1;
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
      broken += 1;
      close(connection);
    }

    function close(connection: Connection): void {
      connection.end();
      connections.delete(connection);
      if (connections.size === 0) finish();
    }

    /** Sends what is due by now; a request counts from here, also while it waits for a connection. */
    function tick(rate: number): void {
      const now = performance.now();
      const due = Math.min(plan.requests, Math.floor(((now - started) / 1000) * rate));
      while (sent + waiting.length < due && now < deadline) {
        const connection = idle.shift(); // all in turn: a server hangs up on one that is long unused
        if (connection) send(connection, now);
        else waiting.push(now);
      }
      if (sent + waiting.length < plan.requests && now < deadline) return;
      if (waiting.length > 0 || answered < sent) return;
      for (const connection of idle.splice(0)) close(connection);
    }

    function finish(): void {
      clearTimeout(timeout);
      clearInterval(ticking);
      for (const connection of connections) connection.end();
      connections.clear();
      const seconds = (performance.now() - started) / 1000;
      const { user, system } = process.cpuUsage(cpuBefore);
      const sorted = latencies.subarray(0, answered).sort();
      const failures = broken + (sent - answered) + waiting.length;
      const accepted = Object.entries(statuses).reduce(
        (sum, [status, count]) => sum + (status.startsWith("2") ? count : 0),
        0,
      );
      resolve({
        answered,
        statuses,
        accepted,
        failures,
        valid: failures === 0 && answered > 0 && accepted === answered,
        seconds,
        perSecond: answered / seconds,
        cpuSeconds: (user + system) / 1e6,
        latency: {
          p50: percentile(sorted, 0.5),
          p90: percentile(sorted, 0.9),
          p99: percentile(sorted, 0.99),
          max: percentile(sorted, 1),
        },
      });
    }

    for (let at = 0; at < plan.connections; at += 1) {
      // Each has templates of its own: what is in flight must not be written to.
      const own = plan.templates.filter((_, index) => index % plan.connections === at);
      const connection: Connection = openConnection(plan.port, own, {
        ready() {
          if (plan.rate !== undefined) idle.push(connection);
          else if (mayStart()) send(connection, performance.now());
          else close(connection);
        },
        answer: (status, cameAt) => onAnswer(connection, status, cameAt),
        broken: () => onBroken(connection),
      });
      connections.add(connection);
    }
    const { rate } = plan;
    if (rate !== undefined) ticking = setInterval(() => tick(rate), 1);
  });
}

interface Connection {
  send(cameAt: number): void;
  end(): void;
}

function openConnection(
  port: number,
  templates: LoadPlan["templates"],
  on: { ready(): void; answer(status: string, cameAt: number): void; broken(): void },
): Connection {
  let turn = 0;
  let cameAt = 0;
  let read = "";
  let ended = false;
  const socket: Socket = connect({
    port,
    host: "127.0.0.1",
    noDelay: true,
    // One buffer for all reads: no stream machinery, no garbage.
    onread: {
      buffer: Buffer.allocUnsafe(16 * 1024),
      callback(size, buffer) {
        const chunk = (buffer as Buffer).toString("latin1", 0, size);
        read = read === "" ? chunk : read + chunk;
        if (!isWhole(read)) return true;
        const status = read.slice(9, 12);
        read = "";
        on.answer(status, cameAt);
        return true;
      },
    },
  });
  const fail = () => {
    if (!ended) on.broken();
  };
  socket.on("connect", on.ready).on("error", fail).on("close", fail);
  return {
    send(at) {
      cameAt = at;
      const { request, idAt } = templates[turn % templates.length] as LoadPlan["templates"][number];
      turn += 1;
      writeHex(request, idAt, nextTick());
      socket.write(request);
    },
    end() {
      ended = true;
      socket.destroy();
    },
  };
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(answer)?.[1];
  // The other way that Node ends an answer is by chunks, of which the last is empty.
  return length === undefined
    ? answer.endsWith("\r\n0\r\n\r\n")
    : answer.length >= end + 4 + Number(length);
}

/**
 * The first field of a UUID of version 1, as GitHub's delivery ids are: units of 100 ns, of which
 * the upper bits are lost. So ids that come together lie together in an index, as they do in life.
 */
let lastTick = 0;
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
