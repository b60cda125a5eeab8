/**
 * `npm run bench -- callbacks`: callbacks of MCP servers and webhooks with the same payloads, both
 * compared with the parts server. Goal: a callback takes no more CPU time than a webhook.
 */
import type { Benchmark } from "./benchmark.ts";
import { callbackRequests, prepareCallbacks } from "./callback-requests.ts";
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
    const partsServer = await startParts(ALL_PARTS, "parts");
    started.push(partsServer);
    const hub = await startHub({ cli, name: "hub, webhooks", data });
    started.push(hub);
    // One process receives webhooks and callbacks, so that nothing else differs.
    const callbackTarget = {
      ...hub,
      name: "hub, callbacks",
      makeRequests: () => callbackRequests(hub.port, token),
    };
    for (const target of [partsServer, hub, callbackTarget]) measured.set(target, []);
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
  const [partsRounds = [], webhookRounds = [], callbackRounds = []] = measured.values();
  const throughput = ({ perCpuSecond }: Measurement) => perCpuSecond;
  const shareOf = (rounds: Measurement[]) => relativeTo(partsRounds, rounds, throughput);
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
        what: `callbacks per CPU-second, relative to the parts server, at least the share of webhooks (${percent(shareOf(webhookRounds))})`,
        isMet: shareOf(callbackRounds) >= shareOf(webhookRounds),
        result: percent(shareOf(callbackRounds)),
      },
    ],
    isValid: problems.length === 0,
    data: Object.fromEntries([...measured].map(([{ name }, rounds]) => [name, rounds])),
  };
};
