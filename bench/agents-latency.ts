/**
 * Latency from a POST until a stream client has parsed the event: with and without
 * background load. The baseline forwards the event without storing it; the hub fsyncs first.
 */
import { startAgentHub } from "./agent-hub.ts";
import { startBaseline } from "./baseline-process.ts";
import type { Options, Result } from "./benchmark.ts";
import { startFlags } from "./hub-process.ts";
import type { ProbeReport } from "./latency-probe.ts";
import type { LoadReport } from "./load.ts";
import type { Load } from "./load-process.ts";
import { describeMachine } from "./machine.ts";
import { signedWebhooks } from "./signed-webhooks.ts";
import { median, type Spread, spread } from "./statistics.ts";
import { type LatencyProbe, startLatencyProbe } from "./stream-processes.ts";
import { figure, range, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const INTERVAL_MS = 20;
const OTHER_RATE = 1_000;

interface Round {
  probes: ProbeReport;
  others: LoadReport | undefined;
  problems: string[];
}

interface Line {
  target: string;
  /** Other webhooks per second. */
  others: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  /** Relative to the baseline in the same round. */
  ratio: { p50: number; p99: number };
  rounds: Round[];
}

export async function measureLatency(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, reportProgress } = options;
  const prober = startLatencyProbe();
  const targets = new Map<Target, string>();
  const lines: Line[] = [];
  const fsyncs: number[] = [];
  try {
    targets.set(
      await startBaseline(new URL("./stream-baseline.ts", import.meta.url), startFlags()),
      "none",
    );
    const hub = await startAgentHub({ cli, name: "hub, SQLite" });
    targets.set(hub, hub.token);
    for (const [target, token] of targets) {
      reportProgress(`agents: latency: warm-up of ${target.name}`);
      await probe(prober, load, target, token, { probes: 100, intervalMs: 1, others: OTHER_RATE });
    }
    for (const others of [0, OTHER_RATE]) {
      const measured = new Map<Target, Round[]>([...targets.keys()].map((target) => [target, []]));
      for (let round = 1; round <= (quick ? 3 : 7); round += 1) {
        fsyncs.push(describeMachine().fsyncMs); // in every round, because the speed of the disk varies
        for (const [target, rounds] of measured) {
          reportProgress(
            `agents: latency: ${others} other webhooks per second: round ${round}, ${target.name}`,
          );
          const token = targets.get(target) as string;
          const shape = { probes: quick ? 150 : 300, intervalMs: INTERVAL_MS, others };
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
  prober: LatencyProbe,
  load: Load,
  target: Target,
  token: string,
  { probes, intervalMs, others: rate }: { probes: number; intervalMs: number; others: number },
): Promise<Round> {
  const seconds = (probes * intervalMs) / 1000 + 1;
  const storedBefore = await target.stored?.();
  // The other webhooks start before the first probe and end after the last.
  const sending =
    rate === 0
      ? undefined
      : load.run({
          ...signedWebhooks(target.port),
          connections: 64,
          requests: Math.ceil(rate * seconds),
          seconds: 2 * seconds,
          rate,
        });
  const report = await prober.run({ ...signedWebhooks(target.port), token, probes, intervalMs });
  const others = await sending;
  const storedAfter = await target.stored?.();
  const acknowledged = report.received + (others?.accepted ?? 0);
  const stored = (storedAfter ?? 0) - (storedBefore ?? 0);
  return {
    probes: report,
    others,
    problems: [
      ...report.failures,
      ...(others && !others.isValid ? [`others: ${JSON.stringify(others.statuses)}`] : []),
      ...(target.stored && stored !== acknowledged
        ? [`${acknowledged} acknowledged, ${stored} stored`]
        : []),
    ].map((problem) => `${target.name}: INVALID: ${problem}`),
  };
}

function summarize(measured: Map<Target, Round[]>, others: number): Line[] {
  const [baseline = []] = measured.values();
  type Latency = ProbeReport["latency"];
  return [...measured].map(([{ name }, rounds]) => {
    const of = (which: keyof Latency) => rounds.map(({ probes }) => probes.latency[which]);
    const ratio = (which: keyof Latency) =>
      median(of(which).map((ms, at) => ms / (baseline[at]?.probes.latency[which] ?? Number.NaN)));
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
  const problems = lines.flatMap(({ rounds }) => rounds.flatMap((round) => round.problems));
  return {
    tables: [
      {
        title: `Latency in ms from POST to a client of GET /events, at most ${figure(1000 / INTERVAL_MS)} probes per second; fsync ${figure(fsyncMs.median)} ms (${range(fsyncMs)})`,
        text: table(
          [
            "server",
            "other webhooks/s",
            "p50",
            "p90",
            "p99",
            "max",
            "p50 / baseline",
            "p99 / baseline",
          ],
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
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: [],
    isValid: problems.length === 0,
    data: { fsyncMs, lines },
  };
}
