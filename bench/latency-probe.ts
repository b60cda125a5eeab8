/**
 * Sends a webhook, waits until the event arrives on a live stream, and repeats this at a fixed
 * interval. It is a separate process, and both times come from its clock. Forked by
 * stream-processes.ts: receives a plan over IPC, sends a report.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan } from "./load.ts";
import { percentile, sorted } from "./statistics.ts";

export interface ProbePlan extends Pick<LoadPlan, "port" | "templates"> {
  token: string;
  probes: number;
  /** Minimum time between the starts of two probes. */
  intervalMs: number;
}

export interface ProbeReport {
  /** Number of probes whose event arrived. */
  received: number;
  /** Error messages. */
  failures: string[];
  cpuSeconds: number;
  /** Milliseconds from the start of the POST to the parsed event. */
  latency: { p50: number; p90: number; p99: number; max: number };
}

const TIMEOUT_MS = 10_000;

async function probe(plan: ProbePlan): Promise<ProbeReport> {
  const cpuBefore = process.cpuUsage();
  const latencies: number[] = [];
  const failures: string[] = [];
  const stream = await openStream(plan.port, plan.token);
  const poster = await openPoster(plan.port);
  try {
    for (let at = 0; at < plan.probes; at += 1) {
      const { request, idAt } = plan.templates[
        at % plan.templates.length
      ] as (typeof plan)["templates"][number];
      // The other characters of the id are unique per run; see signed-webhooks.ts.
      request.set(Buffer.from(at.toString(16).padStart(8, "0")), idAt);
      const startedAt = performance.now();
      const id = await withTimeout(poster.post(request));
      const arrivedAt = id === undefined ? undefined : await withTimeout(stream.arrival(id));
      if (arrivedAt === undefined) {
        failures.push(
          id === undefined ? `probe ${at} was not stored` : `probe ${at} did not arrive`,
        );
        break;
      }
      latencies.push(arrivedAt - startedAt);
      await sleep(Math.max(0, plan.intervalMs - (performance.now() - startedAt)));
    }
  } finally {
    stream.close();
    poster.close();
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const inOrder = sorted(latencies);
  return {
    received: latencies.length,
    failures,
    cpuSeconds: (user + system) / 1e6,
    latency: {
      p50: percentile(inOrder, 0.5),
      p90: percentile(inOrder, 0.9),
      p99: percentile(inOrder, 0.99),
      max: percentile(inOrder, 1),
    },
  };
}

const withTimeout = <Value>(promise: Promise<Value>): Promise<Value | undefined> =>
  Promise.race([promise, sleep(TIMEOUT_MS, undefined, { ref: false })]);

/** Follows the stream and records the time at which each event was parsed. */
async function openStream(port: number, token: string) {
  const arrivals = new Map<string, number>();
  let expected: { id: string; resolve(at: number): void } | undefined;
  let unparsed = "";
  const onFrame = (frame: string) => {
    const at = frame.indexOf("data: ");
    const data = JSON.parse(frame.slice(at + 6)) as { event_id?: string };
    if (data.event_id === undefined) return connected.resolve();
    const now = performance.now();
    arrivals.set(data.event_id, now);
    if (expected?.id === data.event_id) expected.resolve(now);
  };
  const connected = Promise.withResolvers<void>();
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.setEncoding("latin1").on("data", (chunk: unknown) => {
    const blocks = (unparsed + String(chunk)).split("\n\n");
    unparsed = blocks.pop() ?? "";
    for (const block of blocks) onFrame(block);
  });
  socket.once("error", connected.reject);
  socket.write(
    `GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await connected.promise;
  return {
    arrival(id: string): Promise<number> {
      const arrivedAt = arrivals.get(id);
      arrivals.clear(); // earlier events belong to other webhooks
      return arrivedAt === undefined
        ? new Promise((resolve) => {
            expected = { id, resolve };
          })
        : Promise.resolve(arrivedAt);
    },
    close: () => socket.destroy(),
  };
}

/** One connection with one request in flight; `post` returns the id of the stored event. */
async function openPoster(port: number) {
  const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let received = "";
  let waiting: ((id: string | undefined) => void) | undefined;
  socket.setEncoding("latin1").on("data", (chunk: unknown) => {
    received += String(chunk);
    const [head = "", body] = received.split("\r\n\r\n");
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
    if (body === undefined || body.length < length) return;
    waiting?.(/^HTTP\/1\.1 2/.test(head) ? (JSON.parse(body) as { id?: string }).id : undefined);
    received = "";
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", () => resolve()).once("error", reject);
  });
  return {
    post: (request: Uint8Array) =>
      new Promise<string | undefined>((resolve) => {
        waiting = resolve;
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

process.on("message", (plan: ProbePlan) => {
  void probe(plan).then((report) => process.send?.(report));
});
process.on("disconnect", () => process.exit());
