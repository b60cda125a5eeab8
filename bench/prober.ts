/**
 * One client that posts a delivery and waits until it has read the event on its own stream, again and
 * again at an even pace, in a process of its own. Both ends of the way are timed by one clock. Forked
 * by stream-processes.ts; takes a plan over IPC and answers with a report.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan } from "./load.ts";
import { percentile, sorted } from "./statistics.ts";

export interface ProbePlan extends Pick<LoadPlan, "port" | "templates"> {
  token: string;
  probes: number;
  /** From the start of one to the start of the next, if it is through by then. */
  everyMs: number;
}

export interface ProbeReport {
  /** That came back as events. */
  seen: number;
  /** What went wrong, in words. */
  failures: string[];
  cpuSeconds: number;
  /** Milliseconds from before the POST to the parsed event. */
  latency: { p50: number; p90: number; p99: number; max: number };
}

const PATIENCE_MS = 10_000;

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
      // Runs have ids of their own already, see delivery.ts.
      request.set(Buffer.from(at.toString(16).padStart(8, "0")), idAt);
      const began = performance.now();
      const id = await within(poster.post(request));
      const arrived = id === undefined ? undefined : await within(stream.arrival(id));
      if (arrived === undefined) {
        failures.push(
          id === undefined ? `probe ${at} was not stored` : `probe ${at} did not arrive`,
        );
        break;
      }
      latencies.push(arrived - began);
      await sleep(Math.max(0, plan.everyMs - (performance.now() - began)));
    }
  } finally {
    stream.close();
    poster.close();
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const inOrder = sorted(latencies);
  return {
    seen: latencies.length,
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

const within = <Value>(promise: Promise<Value>): Promise<Value | undefined> =>
  Promise.race([promise, sleep(PATIENCE_MS, undefined, { ref: false })]);

/** Reads every event of the stream, whoever sent it, and remembers when each was parsed. */
async function openStream(port: number, token: string) {
  const arrivals = new Map<string, number>();
  let expected: { id: string; resolve(at: number): void } | undefined;
  let rest = "";
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
    const blocks = (rest + String(chunk)).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) onFrame(block);
  });
  socket.once("error", connected.reject);
  socket.write(
    `GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await connected.promise;
  return {
    arrival(id: string): Promise<number> {
      const known = arrivals.get(id);
      arrivals.clear(); // whatever came before is of others
      return known === undefined
        ? new Promise((resolve) => {
            expected = { id, resolve };
          })
        : Promise.resolve(known);
    },
    close: () => socket.destroy(),
  };
}

/** One connection, one request in flight; answers with the id that the event was given. */
async function openPoster(port: number) {
  const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let answer = "";
  let waiting: ((id: string | undefined) => void) | undefined;
  socket.setEncoding("latin1").on("data", (chunk: unknown) => {
    answer += String(chunk);
    const [head = "", body] = answer.split("\r\n\r\n");
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
    if (body === undefined || body.length < length) return;
    waiting?.(/^HTTP\/1\.1 2/.test(head) ? (JSON.parse(body) as { id?: string }).id : undefined);
    answer = "";
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
