/**
 * `npm run bench -- callbacks`: callbacks of MCP servers and webhooks of the same payloads, both
 * relative to the parts server. A callback should reach at least the share of a webhook.
 */
import type { Benchmark } from "./benchmark.ts";
import { callbackDeliveries, prepareCallbacks } from "./callback-deliveries.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, startHub } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { invalidReasons, type Measurement, measure } from "./measure.ts";
import { ALL_PARTS, startParts } from "./parts-process.ts";
import { median, relativeTo, spread } from "./statistics.ts";
import { figure, percent, range, table } from "./table.ts";
import type { Target } from "./target.ts";

const CONCURRENCY = 64;

export const callbacks: Benchmark = async ({ quick, hub: cliPath, reportProgress }) => {
  const load = startLoad();
  const cli = findCli(cliPath);
  const data = makeFolder();
  const measured = new Map<Target, Measurement[]>();
  const started: Target[] = [];
  try {
    const token = await prepareCallbacks(data);
    const floor = await startParts(ALL_PARTS, "parts");
    started.push(floor);
    const hub = await startHub({ cli, name: "hub, webhooks", data });
    started.push(hub);
    // One process receives both, so that nothing else differs.
    const callbacks = {
      ...hub,
      name: "hub, callbacks",
      deliveries: () => callbackDeliveries(hub.port, token),
    };
    for (const target of [floor, hub, callbacks]) measured.set(target, []);
    for (let round = 0; round <= (quick ? 5 : 9); round += 1)
      for (const [target, rounds] of measured) {
        reportProgress(`callbacks: round ${round}, ${target.name}`);
        const seconds = round === 0 ? 6 : 2;
        const shape = { connections: CONCURRENCY, requests: 60_000, seconds };
        const result = await measure(load, target, shape);
        // Round 0 is the warm-up.
        if (round > 0) rounds.push(result);
      }
  } finally {
    for (const target of started) await target.stop();
    removeFolder(data);
  }
  const [floor = [], webhooks = [], callbackRounds = []] = measured.values();
  const throughput = ({ perCpuSecond }: Measurement) => perCpuSecond;
  const shareOf = (rounds: Measurement[]) => relativeTo(floor, rounds, throughput);
  const problems = [...measured].flatMap(([{ name }, rounds]) =>
    rounds.flatMap((round) => invalidReasons(name, round)),
  );
  return {
    tables: [
      {
        title: `Callbacks and webhooks of 10 KB, concurrency ${CONCURRENCY}, SQLite, fsync before the response`,
        text: table(
          ["server", "req/CPU-s", "spread", "of parts", "p50 ms", "p99 ms"],
          [...measured].map(([{ name }, rounds]) => [
            name,
            figure(median(rounds.map(throughput))),
            range(spread(rounds.map(throughput))),
            percent(shareOf(rounds)),
            figure(median(rounds.map(({ latency }) => latency.p50))),
            figure(median(rounds.map(({ latency }) => latency.p99))),
          ]),
        ),
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: [
      {
        what: `callbacks per CPU-second, relative to the parts server, at least the share of webhooks (${percent(shareOf(webhooks))})`,
        met: shareOf(callbackRounds) >= shareOf(webhooks),
        found: percent(shareOf(callbackRounds)),
      },
    ],
    valid: problems.length === 0,
    data: Object.fromEntries([...measured].map(([{ name }, rounds]) => [name, rounds])),
  };
};
