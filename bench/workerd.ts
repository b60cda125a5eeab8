/**
 * `npm run bench -- workerd`: ingest on workerd, compared with a minimal Worker that stores the same body in
 * a Durable Object without signature, parsing, deduplication or counters. The two alternate round by round.
 */
import { join } from "node:path";
import { startWorkerProcess } from "../test/support/worker-process.ts";
import type { Benchmark } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, storedCount } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { invalidReasons, type Measurement, measure } from "./measure.ts";
import { SECRET } from "./signed-webhooks.ts";
import { median, relativeTo } from "./statistics.ts";
import { figure, percent, table } from "./table.ts";
import type { Target } from "./target.ts";

const CONCURRENCIES = [1, 16, 64];
const GOAL_CONCURRENCY = 64;
const GOAL_SHARE = 0.5;
const MAX_REQUESTS = 60_000;

export const workerd: Benchmark = async ({ quick, hub, reportProgress }) => {
  findCli(hub); // builds the Worker too
  const load = startLoad();
  const lines: { name: string; concurrency: number; rounds: Measurement[]; share: number }[] = [];
  for (const connections of CONCURRENCIES) {
    const targets = [await startMinimal(), await startHubWorker()];
    const measured = new Map<Target, Measurement[]>(targets.map((target) => [target, []]));
    const shape = { connections, requests: MAX_REQUESTS, seconds: quick ? 1.5 : 4 };
    try {
      for (const target of targets) {
        reportProgress(`workerd: concurrency ${connections}: warm-up of ${target.name}`);
        await measure(load, target, { ...shape, connections: 32, seconds: quick ? 3 : 8 });
      }
      for (let round = 1; round <= (quick ? 3 : 7); round += 1)
        for (const [target, rounds] of measured) {
          reportProgress(`workerd: concurrency ${connections}: round ${round}, ${target.name}`);
          rounds.push(await measure(load, target, shape));
        }
    } finally {
      for (const target of targets) await target.stop();
    }
    const [minimal = []] = measured.values();
    for (const [{ name }, rounds] of measured)
      lines.push({
        name,
        concurrency: connections,
        rounds,
        share: relativeTo(minimal, rounds, ({ perCpuSecond }) => perCpuSecond),
      });
  }
  const problems = lines.flatMap(({ name, rounds }) =>
    rounds.flatMap((round) => invalidReasons(name, round)),
  );
  const medianOf = (rounds: Measurement[], value: (round: Measurement) => number) =>
    figure(median(rounds.map(value)));
  const share = lines.findLast(({ concurrency }) => concurrency === GOAL_CONCURRENCY)?.share ?? 0;
  return {
    tables: [
      {
        title: "Ingest on workerd: signed GitHub webhooks of 10 KB",
        text: table(
          ["Worker", "concurrency", "req/CPU-s", "of minimal", "req/s", "p50 ms", "p99 ms"],
          lines.map(({ name, concurrency, rounds, share }) => [
            name,
            String(concurrency),
            medianOf(rounds, ({ perCpuSecond }) => perCpuSecond),
            percent(share),
            medianOf(rounds, ({ perSecond }) => perSecond),
            medianOf(rounds, ({ latency }) => latency.p50),
            medianOf(rounds, ({ latency }) => latency.p99),
          ]),
        ),
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: [
      {
        what: `concurrency ${GOAL_CONCURRENCY}: at least ${percent(GOAL_SHARE)} of the requests per CPU-second of the minimal Worker`,
        isMet: share >= GOAL_SHARE,
        result: percent(share),
      },
    ],
    isValid: problems.length === 0,
    data: lines,
  };
};

async function start(
  name: string,
  options: Omit<Parameters<typeof startWorkerProcess>[0], "data">,
): Promise<Target> {
  const data = makeFolder();
  const { url, pid, stop } = await startWorkerProcess({ data, ...options });
  return {
    name,
    port: Number(new URL(url).port),
    pid,
    async stop() {
      await stop("SIGKILL");
      removeFolder(data);
    },
  };
}

const startMinimal = () =>
  start("minimal", {
    modules: [join(import.meta.dirname, "minimal-worker.mjs")],
    classes: { ROWS: "Rows" },
  });

async function startHubWorker(): Promise<Target> {
  const target = await start("hub", {
    env: {
      SIGNALBOX_TOKEN: "the-admin-of-this-benchmark",
      GITHUB_WEBHOOK_SECRET: SECRET,
      SIGNALBOX_LOG_LEVEL: "warn",
    },
  });
  return { ...target, stored: () => storedCount(target.port) };
}
