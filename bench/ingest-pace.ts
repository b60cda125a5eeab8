/**
 * The hub beside the floor, at several concurrencies. Machines are noisy, so the two take turns, and
 * a column shows the middle round. Every round is checked: what was acknowledged has been stored.
 */
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import type { Goal, Options, Result } from "./benchmark.ts";
import { signedDeliveries } from "./delivery.ts";
import { startFloor } from "./floor-process.ts";
import { startHub } from "./hub-process.ts";
import type { Load } from "./load-process.ts";
import { complaints, type Measured, measure } from "./measure.ts";
import { median, type Spread, spread } from "./statistics.ts";
import { figure, percent, range, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const CONCURRENCIES = [1, 16, 64];
const GOAL_SHARE = 0.35;
const GOAL_TAIL = 10;
/** Of one round, so that no disk fills up: some 600 MB of payloads. */
const MOST_REQUESTS = 60_000;

interface Line {
  target: string;
  concurrency: number;
  perCpuSecond: Spread;
  perSecond: Spread;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  /** Requests per CPU-second, against the floor's in the same round. */
  share: number;
  /** Microseconds of CPU that PostgreSQL took for a request. */
  databaseMicros: number;
  /** CPU of the load generator, against the server's. */
  loadShare: number;
  valid: boolean;
  rounds: Measured[];
}

export async function measurePace(options: Options, cli: string, load: Load): Promise<Result> {
  const postgres = options.backends.includes("postgres") ? await startPostgres() : undefined;
  const lines: Line[] = [];
  const troubles: string[] = [];
  try {
    for (const concurrency of CONCURRENCIES) {
      const targets: Target[] = [];
      try {
        targets.push(await startFloor());
        if (options.backends.includes("sqlite"))
          targets.push(await startHub({ cli, name: "hub, SQLite" }));
        if (postgres)
          targets.push(
            await startHub({
              cli,
              name: "hub, PostgreSQL",
              databaseUrl: await createDatabase(postgres.url),
              databasePid: postgres.pid,
            }),
          );
        const measured = await takeTurns(options, load, targets, concurrency);
        for (const [target, rounds] of measured)
          troubles.push(...rounds.flatMap((round) => complaints(target.name, round)));
        lines.push(...summarize(measured, concurrency));
      } finally {
        for (const target of targets) await target.stop();
      }
    }
  } finally {
    await postgres?.stop();
  }
  return toResult(lines, troubles);
}

async function takeTurns(
  { quick, tell }: Options,
  load: Load,
  targets: readonly Target[],
  concurrency: number,
): Promise<Map<Target, Measured[]>> {
  const shape = {
    connections: concurrency,
    requests: MOST_REQUESTS,
    seconds: quick ? 1.5 : 4,
  };
  const measured = new Map<Target, Measured[]>(targets.map((target) => [target, []]));
  for (const target of targets) {
    tell(`ingest: ${concurrency} at once: warming up ${target.name}`);
    // Always with many at once: it is the number of requests that makes code warm.
    await load.run({
      ...signedDeliveries(target.port),
      rate: undefined,
      connections: 32,
      requests: quick ? 12_000 : 30_000,
      seconds: quick ? 5 : 10,
    });
  }
  for (let round = 1; round <= (quick ? 3 : 7); round += 1)
    for (const [target, rounds] of measured) {
      tell(`ingest: ${concurrency} at once: round ${round}, ${target.name}`);
      rounds.push(await measure(load, target, shape));
    }
  return measured;
}

function summarize(measured: Map<Target, Measured[]>, concurrency: number): Line[] {
  const [floor = []] = measured.values();
  return [...measured].map(([target, rounds]) => {
    const of = (value: (round: Measured) => number) => rounds.map(value);
    return {
      target: target.name,
      concurrency,
      perCpuSecond: spread(of((round) => round.perCpuSecond)),
      perSecond: spread(of((round) => round.perSecond)),
      p50: median(of(({ latency }) => latency.p50)),
      p90: median(of(({ latency }) => latency.p90)),
      p99: median(of(({ latency }) => latency.p99)),
      max: Math.max(...of(({ latency }) => latency.max)),
      share: median(
        rounds.map((round, at) => round.perCpuSecond / (floor[at]?.perCpuSecond ?? Number.NaN)),
      ),
      databaseMicros: median(of((round) => (round.databaseCpuSeconds / round.answered) * 1e6)),
      loadShare: median(of((round) => round.cpuSeconds / round.serverCpuSeconds)),
      valid: rounds.every(({ valid }) => valid),
      rounds,
    };
  });
}

function toResult(lines: Line[], troubles: string[]): Result {
  const text = table(
    [
      "server",
      "at once",
      "req/CPU-s",
      "spread",
      "of floor",
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
      percent(line.share),
      figure(line.perSecond.median),
      range(line.perSecond),
      figure(line.p50),
      figure(line.p99),
      times(line.p99 / line.p50),
      line.databaseMicros > 0 ? figure(line.databaseMicros) : "",
      percent(line.loadShare),
      line.valid ? "yes" : "NO",
    ]),
  );
  return {
    tables: [
      {
        title: "Ingest: signed GitHub deliveries of 10 KB, each fsynced before its answer",
        text,
      },
      ...(troubles.length > 0 ? [{ title: "Invalid rounds", text: troubles.join("\n") }] : []),
    ],
    goals: lines
      .filter(({ target, concurrency }) => target === "hub, SQLite" && concurrency === 64)
      .flatMap(goalsOf),
    valid: troubles.length === 0,
    data: lines,
  };
}

const goalsOf = ({ target, share, p50, p99 }: Line): Goal[] => [
  {
    what: `${target}, 64 at once: at least ${percent(GOAL_SHARE)} of the floor's requests per CPU-second`,
    met: share >= GOAL_SHARE,
    found: percent(share),
  },
  {
    what: `${target}, 64 at once: p99 within ${GOAL_TAIL}× of p50`,
    met: p99 / p50 <= GOAL_TAIL,
    found: times(p99 / p50),
  },
];
