/**
 * Requests per CPU-second and latency of the hub at several concurrencies, compared with two
 * reference servers: the baseline (HTTP only) and `parts` (the same work without rate limit and
 * log). The servers alternate round by round, because the speed of a machine varies. The table
 * shows the median of the rounds. Every round checks that all acknowledged events were stored.
 */
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import { startBaseline } from "./baseline-process.ts";
import type { Goal, Options, Result } from "./benchmark.ts";
import { startHub } from "./hub-process.ts";
import type { Load } from "./load-process.ts";
import { invalidReasons, type Measurement, measure } from "./measure.ts";
import { ALL_PARTS, startParts } from "./parts-process.ts";
import { signedWebhooks } from "./signed-webhooks.ts";
import { median, relativeTo, type Spread, spread } from "./statistics.ts";
import { figure, percent, range, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const CONCURRENCIES = [1, 16, 64];
const GOAL_CONCURRENCY = 64;
const GOAL_SHARE = 0.8;
const GOAL_P99_RATIO = 10;
/** Upper limit of one round, about 600 MB of payloads, so that no disk fills up. */
const MAX_REQUESTS = 60_000;

interface Line {
  target: string;
  concurrency: number;
  perCpuSecond: Spread;
  perSecond: Spread;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  /** Requests per CPU-second, relative to the baseline in the same round. */
  ofBaseline: number;
  /** The same, relative to the parts server; NaN without one. */
  ofParts: number;
  /** CPU time of PostgreSQL in microseconds per request. */
  databaseMicros: number;
  /** CPU time of the load generator, relative to the server's. */
  loadShare: number;
  isValid: boolean;
  rounds: Measurement[];
}

export async function measureThroughput(
  options: Options,
  cli: string,
  load: Load,
): Promise<Result> {
  const postgres = options.backends.includes("postgres") ? await startPostgres() : undefined;
  const lines: Line[] = [];
  const problems: string[] = [];
  try {
    for (const concurrency of CONCURRENCIES) {
      const targets: Target[] = [];
      try {
        targets.push(await startBaseline());
        if (options.backends.includes("sqlite")) {
          targets.push(await startParts(ALL_PARTS, "parts"));
          targets.push(await startHub({ cli, name: "hub, SQLite" }));
        }
        if (postgres)
          targets.push(
            await startHub({
              cli,
              name: "hub, PostgreSQL",
              databaseUrl: await createDatabase(postgres.url),
              databasePid: postgres.pid,
            }),
          );
        const measured = await alternateRounds(options, load, targets, concurrency);
        for (const [target, rounds] of measured)
          problems.push(...rounds.flatMap((round) => invalidReasons(target.name, round)));
        lines.push(...summarize(measured, concurrency));
      } finally {
        for (const target of targets) await target.stop();
      }
    }
  } finally {
    await postgres?.stop();
  }
  return toResult(lines, problems);
}

async function alternateRounds(
  { quick, reportProgress }: Options,
  load: Load,
  targets: readonly Target[],
  concurrency: number,
): Promise<Map<Target, Measurement[]>> {
  const shape = {
    connections: concurrency,
    requests: MAX_REQUESTS,
    seconds: quick ? 1.5 : 4,
  };
  const measured = new Map<Target, Measurement[]>(targets.map((target) => [target, []]));
  for (const target of targets) {
    reportProgress(`ingest: concurrency ${concurrency}: warm-up of ${target.name}`);
    // At a high concurrency, because V8 compiles code after a number of requests.
    await load.run({
      ...signedWebhooks(target.port),
      rate: undefined,
      connections: 32,
      requests: quick ? 12_000 : 30_000,
      seconds: quick ? 5 : 10,
    });
  }
  for (let round = 1; round <= (quick ? 3 : 7); round += 1)
    for (const [target, rounds] of measured) {
      reportProgress(`ingest: concurrency ${concurrency}: round ${round}, ${target.name}`);
      rounds.push(await measure(load, target, shape));
    }
  return measured;
}

function summarize(measured: Map<Target, Measurement[]>, concurrency: number): Line[] {
  const [baseline = []] = measured.values();
  const parts = [...measured].find(([{ name }]) => name === "parts")?.[1] ?? [];
  const throughput = (round: Measurement) => round.perCpuSecond;
  return [...measured].map(([target, rounds]) => {
    const of = (value: (round: Measurement) => number) => rounds.map(value);
    return {
      target: target.name,
      concurrency,
      perCpuSecond: spread(of(throughput)),
      perSecond: spread(of((round) => round.perSecond)),
      p50: median(of(({ latency }) => latency.p50)),
      p90: median(of(({ latency }) => latency.p90)),
      p99: median(of(({ latency }) => latency.p99)),
      max: Math.max(...of(({ latency }) => latency.max)),
      ofBaseline: relativeTo(baseline, rounds, throughput),
      ofParts: relativeTo(parts, rounds, throughput),
      databaseMicros: median(of((round) => (round.databaseCpuSeconds / round.completed) * 1e6)),
      loadShare: median(of((round) => round.cpuSeconds / round.serverCpuSeconds)),
      isValid: rounds.every(({ isValid }) => isValid),
      rounds,
    };
  });
}

function toResult(lines: Line[], problems: string[]): Result {
  const text = table(
    [
      "server",
      "concurrency",
      "req/CPU-s",
      "spread",
      "of baseline",
      "of parts",
      "req/s",
      "spread",
      "p50 ms",
      "p99 ms",
      "p99/p50",
      "PG CPU µs/req",
      "load/server CPU",
      "valid",
    ],
    lines.map((line) => [
      line.target,
      String(line.concurrency),
      figure(line.perCpuSecond.median),
      range(line.perCpuSecond),
      percent(line.ofBaseline),
      line.target === "baseline" ? "" : percent(line.ofParts),
      figure(line.perSecond.median),
      range(line.perSecond),
      figure(line.p50),
      figure(line.p99),
      times(line.p99 / line.p50),
      line.databaseMicros > 0 ? figure(line.databaseMicros) : "",
      percent(line.loadShare),
      line.isValid ? "yes" : "NO",
    ]),
  );
  return {
    tables: [
      {
        title: "Ingest: signed GitHub webhooks of 10 KB, fsync before the response",
        text,
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: lines
      .filter(
        ({ target, concurrency }) => target === "hub, SQLite" && concurrency === GOAL_CONCURRENCY,
      )
      .flatMap(goalsOf),
    isValid: problems.length === 0,
    data: lines,
  };
}

const goalsOf = ({ target, ofParts, p50, p99 }: Line): Goal[] => [
  {
    what: `${target}, concurrency ${GOAL_CONCURRENCY}: at least ${percent(GOAL_SHARE)} of the requests per CPU-second of the parts server`,
    isMet: ofParts >= GOAL_SHARE,
    result: percent(ofParts),
  },
  {
    what: `${target}, concurrency ${GOAL_CONCURRENCY}: p99 at most ${GOAL_P99_RATIO}× p50`,
    isMet: p99 / p50 <= GOAL_P99_RATIO,
    result: times(p99 / p50),
  },
];
