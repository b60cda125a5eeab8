/**
 * From a POST to the event in a client's hands: alone, and while many other deliveries arrive. The
 * floor passes the event on without storing it; the hub fsyncs first.
 */
import { startAgentHub } from "./agent-inbox.ts";
import type { Options, Result } from "./benchmark.ts";
import { signedDeliveries } from "./delivery.ts";
import { startFloor } from "./floor-process.ts";
import { startFlags } from "./hub-process.ts";
import type { LoadReport } from "./load.ts";
import type { Load } from "./load-process.ts";
import { describeMachine } from "./machine.ts";
import type { ProbeReport } from "./prober.ts";
import { median, type Spread, spread } from "./statistics.ts";
import { type Prober, startProber } from "./stream-processes.ts";
import { figure, range, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const EVERY_MS = 20;
const OTHERS = 1_000;

interface Round {
  probes: ProbeReport;
  others: LoadReport | undefined;
  troubles: string[];
}

interface Line {
  target: string;
  /** Other deliveries a second. */
  others: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  /** To the floor's in the same round. */
  ratio: { p50: number; p99: number };
  rounds: Round[];
}

export async function measureLatency(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, tell } = options;
  const prober = startProber();
  const targets = new Map<Target, string>();
  const lines: Line[] = [];
  const fsyncs: number[] = [];
  try {
    targets.set(
      await startFloor(new URL("./stream-floor.ts", import.meta.url), startFlags()),
      "unasked",
    );
    const hub = await startAgentHub({ cli, name: "hub, SQLite" });
    targets.set(hub, hub.token);
    for (const [target, token] of targets) {
      tell(`agents: latency: warming up ${target.name}`);
      await probe(prober, load, target, token, { probes: 100, everyMs: 1, others: OTHERS });
    }
    for (const others of [0, OTHERS]) {
      const measured = new Map<Target, Round[]>([...targets.keys()].map((target) => [target, []]));
      for (let round = 1; round <= (quick ? 3 : 7); round += 1) {
        fsyncs.push(describeMachine().fsyncMs); // again and again: disks have their moods
        for (const [target, rounds] of measured) {
          tell(`agents: latency: ${others} others a second: round ${round}, ${target.name}`);
          const token = targets.get(target) as string;
          const shape = { probes: quick ? 150 : 300, everyMs: EVERY_MS, others };
          rounds.push(await probe(prober, load, target, token, shape));
        }
      }
      lines.push(...summarize(measured, others));
    }
  } finally {
    for (const target of targets.keys()) await target.stop();
  }
  return toResult(lines, spread(fsyncs));
}

async function probe(
  prober: Prober,
  load: Load,
  target: Target,
  token: string,
  { probes, everyMs, others: rate }: { probes: number; everyMs: number; others: number },
): Promise<Round> {
  const seconds = (probes * everyMs) / 1000 + 1;
  const storedBefore = await target.stored?.();
  // The others begin before the first probe and end after the last: a probe takes its time, too.
  const sending =
    rate === 0
      ? undefined
      : load.run({
          ...signedDeliveries(target.port),
          connections: 64,
          requests: Math.ceil(rate * seconds),
          seconds: 2 * seconds,
          rate,
        });
  const seen = await prober.run({ ...signedDeliveries(target.port), token, probes, everyMs });
  const others = await sending;
  const storedAfter = await target.stored?.();
  const sent = seen.seen + (others?.accepted ?? 0);
  const stored = (storedAfter ?? 0) - (storedBefore ?? 0);
  return {
    probes: seen,
    others,
    troubles: [
      ...seen.failures,
      ...(others && !others.valid ? [`others: ${JSON.stringify(others.statuses)}`] : []),
      ...(target.stored && stored !== sent ? [`${sent} acknowledged, ${stored} stored`] : []),
    ].map((trouble) => `${target.name}: INVALID: ${trouble}`),
  };
}

function summarize(measured: Map<Target, Round[]>, others: number): Line[] {
  const [floor = []] = measured.values();
  type Latency = ProbeReport["latency"];
  return [...measured].map(([{ name }, rounds]) => {
    const of = (which: keyof Latency) => rounds.map(({ probes }) => probes.latency[which]);
    const ratio = (which: keyof Latency) =>
      median(of(which).map((ms, at) => ms / (floor[at]?.probes.latency[which] ?? Number.NaN)));
    return {
      target: name,
      others,
      p50: median(of("p50")),
      p90: median(of("p90")),
      p99: median(of("p99")),
      max: Math.max(...of("max")),
      ratio: { p50: ratio("p50"), p99: ratio("p99") },
      rounds,
    };
  });
}

function toResult(lines: Line[], fsyncMs: Spread): Result {
  const troubles = lines.flatMap(({ rounds }) => rounds.flatMap((round) => round.troubles));
  return {
    tables: [
      {
        title: `From POST to a client of GET /events, in ms, ${figure(1000 / EVERY_MS)} a second one after the other; an fsync took ${figure(fsyncMs.median)} ms (${range(fsyncMs)})`,
        text: table(
          ["server", "others/s", "p50", "p90", "p99", "max", "p50 to floor", "p99 to floor"],
          lines.map(({ target, others, p50, p90, p99, max, ratio }) => [
            target,
            others === 0 ? "none" : figure(others),
            figure(p50),
            figure(p90),
            figure(p99),
            figure(max),
            times(ratio.p50),
            times(ratio.p99),
          ]),
        ),
      },
      ...(troubles.length > 0 ? [{ title: "Invalid rounds", text: troubles.join("\n") }] : []),
    ],
    goals: [],
    valid: troubles.length === 0,
    data: { fsyncMs, lines },
  };
}
