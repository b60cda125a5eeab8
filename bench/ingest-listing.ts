/** What webhooks notice of another client that lists pending events in a tight loop. */
import { fork } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import type { Options, Result } from "./benchmark.ts";
import { SECRET } from "./delivery.ts";
import { storedCount } from "./hub-process.ts";
import type { ListerNews, ListerOrder } from "./hub-with-lister.ts";
import { listener } from "./listener.ts";
import type { Load } from "./load-process.ts";
import { complaints, type Measured, measure, type Shape } from "./measure.ts";
import { end, makeFolder, own, removeFolder } from "./owned.ts";
import { median } from "./statistics.ts";
import { figure, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const BACKLOG = 50_000;
const GOAL_RATIO = 2;

/** Who lists. Today it sits in the hub's process; a client of an HTTP route would fit as well. */
interface Lister {
  start(): Promise<void>;
  /** Answers with how often it has listed. */
  stop(): Promise<number>;
}

interface Line {
  load: string;
  quiet: { p50: number; p99: number };
  listing: { p50: number; p99: number };
  listsPerSecond: number;
  ratio: number;
  rounds: { quiet: Measured; listing: Measured }[];
}

export async function measureListing({ quick, tell }: Options, load: Load): Promise<Result> {
  const seconds = quick ? 2 : 6;
  const shapes: [string, Shape][] = [
    ["500 a second", { connections: 64, requests: 500 * seconds, seconds, rate: 500 }],
    ["16 at once", { connections: 16, requests: 60_000, seconds }],
  ];
  const lines: Line[] = [];
  const troubles: string[] = [];
  tell(`ingest: seeding ${figure(BACKLOG)} pending events`);
  const { target, lister } = await startHubWithLister();
  try {
    tell("ingest: warming up the hub with a lister");
    await measure(load, target, { connections: 16, requests: 15_000, seconds: quick ? 2 : 5 });
    for (const [name, shape] of shapes) {
      const rounds: Line["rounds"] = [];
      const listRates: number[] = [];
      for (let round = 1; round <= (quick ? 3 : 7); round += 1) {
        tell(`ingest: ${name}, with and without a listing loop: round ${round}`);
        const quiet = await measure(load, target, shape);
        await lister.start();
        const listing = await measure(load, target, shape);
        listRates.push((await lister.stop()) / listing.seconds);
        rounds.push({ quiet, listing });
        troubles.push(...complaints(name, quiet), ...complaints(`${name}, listing`, listing));
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
        title: `Ingest latency in ms while another client lists, SQLite, ${figure(BACKLOG)} pending`,
        text: table(
          [
            "webhooks",
            "p50 quiet",
            "p50 listing",
            "p99 quiet",
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
      ...(troubles.length > 0 ? [{ title: "Invalid rounds", text: troubles.join("\n") }] : []),
    ],
    goals: lines.map(({ load, ratio }) => ({
      what: `Webhooks, ${load}: p99 under a listing loop within ${GOAL_RATIO}× of quiet`,
      met: ratio <= GOAL_RATIO,
      found: times(ratio),
    })),
    valid: troubles.length === 0,
    data: lines,
  };
}

async function startHubWithLister(): Promise<{ target: Target; lister: Lister }> {
  const folder = makeFolder();
  const log = openSync(join(folder, "log"), "w");
  const child = own(
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
  const news = listener<ListerNews>(child);
  const order = async (list: boolean): Promise<number> => {
    const answer = news();
    child.send({ list } satisfies ListerOrder);
    return (await answer).lists;
  };
  const { port } = await news();
  return {
    target: {
      name: "hub with a lister",
      port,
      pid: child.pid as number,
      stored: () => storedCount(port),
      async stop() {
        await end(child);
        removeFolder(folder);
      },
    },
    lister: { start: async () => void (await order(true)), stop: () => order(false) },
  };
}
