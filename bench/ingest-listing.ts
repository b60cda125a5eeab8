/** Latency of webhooks while a loop in the hub's process lists pending events. */
import { fork } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import type { Options, Result } from "./benchmark.ts";
import { makeFolder, removeFolder, stopProcess, trackProcess } from "./cleanup.ts";
import { storedCount } from "./hub-process.ts";
import type { ListerCommand, ListerState } from "./hub-with-lister.ts";
import type { Load } from "./load-process.ts";
import { invalidReasons, type LoadShape, type Measurement, measure } from "./measure.ts";
import { createMessageReader } from "./message-reader.ts";
import { SECRET } from "./signed-webhooks.ts";
import { median } from "./statistics.ts";
import { figure, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const BACKLOG = 50_000;
const GOAL_RATIO = 2;

/** Controls the listing loop. It runs in the hub's process. */
interface Lister {
  start(): Promise<void>;
  /** Returns the number of lists since `start`. */
  stop(): Promise<number>;
}

interface Line {
  load: string;
  quiet: { p50: number; p99: number };
  listing: { p50: number; p99: number };
  listsPerSecond: number;
  ratio: number;
  rounds: { quiet: Measurement; listing: Measurement }[];
}

export async function measureListing(
  { quick, reportProgress }: Options,
  load: Load,
): Promise<Result> {
  const seconds = quick ? 2 : 6;
  const shapes: [string, LoadShape][] = [
    ["500 per second", { connections: 64, requests: 500 * seconds, seconds, rate: 500 }],
    ["concurrency 16", { connections: 16, requests: 60_000, seconds }],
  ];
  const lines: Line[] = [];
  const problems: string[] = [];
  reportProgress(`ingest: seeding ${figure(BACKLOG)} pending events`);
  const { target, lister } = await startHubWithLister();
  try {
    reportProgress("ingest: warm-up of the hub with a listing loop");
    await measure(load, target, { connections: 16, requests: 15_000, seconds: quick ? 2 : 5 });
    for (const [name, shape] of shapes) {
      const rounds: Line["rounds"] = [];
      const listRates: number[] = [];
      for (let round = 1; round <= (quick ? 3 : 7); round += 1) {
        reportProgress(`ingest: ${name}, with and without a listing loop: round ${round}`);
        const quiet = await measure(load, target, shape);
        await lister.start();
        const listing = await measure(load, target, shape);
        listRates.push((await lister.stop()) / listing.seconds);
        rounds.push({ quiet, listing });
        problems.push(
          ...invalidReasons(name, quiet),
          ...invalidReasons(`${name}, listing`, listing),
        );
      }
      const latency = (which: "quiet" | "listing") => ({
        p50: median(rounds.map((round) => round[which].latency.p50)),
        p99: median(rounds.map((round) => round[which].latency.p99)),
      });
      lines.push({
        load: name,
        quiet: latency("quiet"),
        listing: latency("listing"),
        listsPerSecond: median(listRates),
        ratio: latency("listing").p99 / latency("quiet").p99,
        rounds,
      });
    }
  } finally {
    await target.stop();
  }
  return {
    tables: [
      {
        title: `Ingest latency in ms while a loop lists events, SQLite, ${figure(BACKLOG)} pending`,
        text: table(
          [
            "webhooks",
            "p50 alone",
            "p50 listing",
            "p99 alone",
            "p99 listing",
            "p99 ratio",
            "lists/s",
          ],
          lines.map(({ load, quiet, listing, ratio, listsPerSecond }) => [
            load,
            figure(quiet.p50),
            figure(listing.p50),
            figure(quiet.p99),
            figure(listing.p99),
            times(ratio),
            figure(listsPerSecond),
          ]),
        ),
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: lines.map(({ load, ratio }) => ({
      what: `Webhooks, ${load}: p99 with a listing loop at most ${GOAL_RATIO}× p99 without it`,
      isMet: ratio <= GOAL_RATIO,
      result: times(ratio),
    })),
    isValid: problems.length === 0,
    data: lines,
  };
}

async function startHubWithLister(): Promise<{ target: Target; lister: Lister }> {
  const folder = makeFolder();
  const log = openSync(join(folder, "log"), "w");
  const child = trackProcess(
    fork(new URL("./hub-with-lister.ts", import.meta.url), {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        HOST: "127.0.0.1",
        PORT: "0",
        SIGNALBOX_DATA: join(folder, "data"),
        SIGNALBOX_RATE_LIMIT: "0",
        SIGNALBOX_LOG_FORMAT: "json",
        GITHUB_WEBHOOK_SECRET: SECRET,
        BENCH_BACKLOG: String(BACKLOG),
      },
      stdio: ["ignore", log, "inherit", "ipc"],
    }),
  );
  const nextState = createMessageReader<ListerState>(child);
  const setListing = async (shouldList: boolean): Promise<number> => {
    const state = nextState();
    child.send({ shouldList } satisfies ListerCommand);
    return (await state).lists;
  };
  const { port } = await nextState();
  return {
    target: {
      name: "hub with a listing loop",
      port,
      pid: child.pid as number,
      stored: () => storedCount(port),
      async stop() {
        await stopProcess(child);
        removeFolder(folder);
      },
    },
    lister: { start: async () => void (await setListing(true)), stop: () => setListing(false) },
  };
}
