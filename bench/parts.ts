/**
 * `npm run bench -- parts`: CPU per webhook of a series of servers, from plain HTTP to the complete
 * hub. Each server does one more part of the work than the previous one.
 */
import { startBaseline } from "./baseline-process.ts";
import type { Benchmark } from "./benchmark.ts";
import { findCli, startHub } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { invalidReasons, type Measurement, measure } from "./measure.ts";
import { PARTS, startParts } from "./parts-process.ts";
import { median, relativeTo, spread } from "./statistics.ts";
import { figure, percent, range, table } from "./table.ts";
import type { Target } from "./target.ts";

const cpuMicros = ({ perCpuSecond }: Measurement) => 1e6 / perCpuSecond;

export const parts: Benchmark = async ({ quick, hub: cliPath, reportProgress }) => {
  const load = startLoad();
  const cli = findCli(cliPath);
  const targets: Target[] = [];
  const measured = new Map<Target, Measurement[]>();
  try {
    targets.push(await startBaseline());
    for (const at of PARTS.keys()) targets.push(await startParts(at + 1));
    targets.push(await startHub({ cli, name: "hub, SQLite" }));
    for (const target of targets) measured.set(target, []);
    for (let round = 0; round <= (quick ? 3 : 9); round += 1)
      for (const [target, rounds] of measured) {
        reportProgress(`parts: round ${round}, ${target.name}`);
        const seconds = round === 0 ? 6 : 2;
        const result = await measure(load, target, { connections: 64, requests: 200_000, seconds });
        // Round 0 is the warm-up.
        if (round > 0) rounds.push(result);
      }
  } finally {
    for (const target of targets) await target.stop();
  }
  const [baseline = []] = measured.values();
  const throughput = ({ perCpuSecond }: Measurement) => perCpuSecond;
  const problems = [...measured].flatMap(([{ name }, rounds]) =>
    rounds.flatMap((round) => invalidReasons(name, round)),
  );
  return {
    tables: [
      {
        title: "Ingest by parts: CPU µs per webhook, concurrency 64, SQLite",
        text: table(
          ["server", "CPU µs", "spread", "requests/CPU-s, % of baseline"],
          [...measured].map(([{ name }, rounds]) => [
            name,
            figure(median(rounds.map(cpuMicros))),
            range(spread(rounds.map(cpuMicros))),
            percent(relativeTo(baseline, rounds, throughput)),
          ]),
        ),
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: [],
    isValid: problems.length === 0,
    data: Object.fromEntries([...measured].map(([{ name }, rounds]) => [name, rounds])),
  };
};
