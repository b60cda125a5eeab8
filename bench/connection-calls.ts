/**
 * A tool call through a connection, compared with a call of the bare SDK client. Both call the same
 * minimal server in another process. Each round measures both clients, one after the other.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createConnections } from "../packages/hub/src/connections/create-connections.ts";
import { createIdentity } from "../packages/hub/src/connections/identity.ts";
import type { Connection } from "../packages/hub/src/connections/model.ts";
import { openClient } from "../packages/hub/src/connections/open-client.ts";
import { createGuardedWebFetch } from "../packages/hub/src/hosts/node/guarded-web-fetch.ts";
import { systemTimers } from "../packages/hub/src/hosts/node/ports.ts";
import { BoundedMap } from "../packages/hub/src/kernel/lib/bounded-map.ts";
import { startBaseline } from "./baseline-process.ts";
import type { Options, Result } from "./benchmark.ts";
import { percentile, relativeTo, type Spread, sorted, spread } from "./statistics.ts";
import { figure, range, table, times } from "./table.ts";

const CONCURRENCIES = [1, 8];
const GOAL_RATIO = 1.5;

interface Caller {
  name: string;
  call(): Promise<unknown>;
  close(): Promise<void>;
}

interface Round {
  /** CPU time of this process in microseconds per call. */
  cpu: number;
  p50: number;
  p99: number;
}

interface Line {
  name: string;
  concurrency: number;
  cpu: Spread;
  p50: Spread;
  p99: Spread;
  rounds: Round[];
}

export async function measureCalls({ quick, reportProgress }: Options): Promise<Result> {
  const server = await startBaseline(new URL("./mcp-baseline.ts", import.meta.url));
  const url = `http://127.0.0.1:${server.port}/mcp`;
  const callers = [await openBareClient(url), openConnection(url)];
  // Many short rounds: the result is the median of the ratios of each round.
  const rounds = quick ? 15 : 30;
  const calls = quick ? 300 : 1_000;
  const lines: Line[] = [];
  try {
    for (const caller of callers) await measureRound(caller, 8, 1_000); // warm-up
    for (const concurrency of CONCURRENCIES) {
      const measured = callers.map((): Round[] => []);
      for (let at = 1; at <= rounds; at += 1)
        for (const [index, caller] of callers.entries()) {
          reportProgress(`connections: concurrency ${concurrency}, round ${at} of ${rounds}`);
          measured[index]?.push(await measureRound(caller, concurrency, calls));
        }
      for (const [index, { name }] of callers.entries())
        lines.push(toLine(name, concurrency, measured[index] ?? []));
    }
  } finally {
    for (const { close } of callers) await close();
    await server.stop();
  }

  const ratios = CONCURRENCIES.map((concurrency) => {
    const [bare, connection] = lines.filter((line) => line.concurrency === concurrency);
    const ratio = (value: (round: Round) => number) =>
      relativeTo(bare?.rounds ?? [], connection?.rounds ?? [], value);
    return { concurrency, cpu: ratio(({ cpu }) => cpu), p50: ratio(({ p50 }) => p50) };
  });
  return {
    tables: [
      {
        title: `Calls of an empty tool, median of ${rounds} rounds of ${figure(calls)}`,
        text: table(
          ["client", "concurrency", "CPU µs per call", "spread", "p50 ms", "p99 ms"],
          lines.map(({ name, concurrency, cpu, p50, p99 }) => [
            name,
            figure(concurrency),
            figure(cpu.median),
            range(cpu),
            figure(p50.median),
            figure(p99.median),
          ]),
        ),
      },
    ],
    goals: ratios.map(({ concurrency, cpu, p50 }) => ({
      what: `A call through a connection at most ${times(GOAL_RATIO)} of the bare client, concurrency ${concurrency}: CPU; p50`,
      isMet: cpu <= GOAL_RATIO && p50 <= GOAL_RATIO,
      result: `${times(cpu)}; ${times(p50)}`,
    })),
    isValid: true,
    data: { lines, ratios },
  };
}

const toLine = (name: string, concurrency: number, rounds: Round[]): Line => ({
  name,
  concurrency,
  cpu: spread(rounds.map(({ cpu }) => cpu)),
  p50: spread(rounds.map(({ p50 }) => p50)),
  p99: spread(rounds.map(({ p99 }) => p99)),
  rounds,
});

async function measureRound({ call }: Caller, concurrency: number, calls: number): Promise<Round> {
  const latencies: number[] = [];
  let left = calls;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left > 0) {
        left -= 1;
        const started = performance.now();
        await call();
        latencies.push(performance.now() - started);
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  const inOrder = sorted(latencies);
  return {
    cpu: (user + system) / calls,
    p50: percentile(inOrder, 0.5),
    p99: percentile(inOrder, 0.99),
  };
}

async function openBareClient(url: string): Promise<Caller> {
  const client = new Client(
    { name: "bench", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    name: "bare SDK client",
    call: () => client.callTool({ name: "empty", arguments: {} }),
    close: () => client.close(),
  };
}

function openConnection(url: string): Caller {
  const timers = systemTimers;
  const random = Math.random;
  const fetch = createGuardedWebFetch({ allowPrivate: ["127.0.0.1"], allowHttp: true });
  const identity = createIdentity({
    sealKey: new Uint8Array(32),
    issuer: Promise.resolve("http://127.0.0.1"),
    now: timers.now,
  });
  const connections = createConnections({
    timers,
    random,
    onSuspectedRestart() {},
    open: (connection, signal) =>
      openClient({
        connection,
        credentials: {},
        fetch,
        openCommand: undefined,
        tokens: new BoundedMap(1),
        identity,
        version: "1",
        timers,
        random,
        signal,
        onListChanged() {},
      }),
  });
  const connection = { id: "bench-aaaaaa", revision: 1, target: { url } } as Connection;
  const { signal } = new AbortController();
  return {
    name: "connection",
    call: () =>
      connections.callTool(
        connection,
        { tool: "empty", arguments: {} },
        { signal, timeoutMs: 60_000, idempotencyKey: "run/step" },
      ),
    close: connections.close,
  };
}
