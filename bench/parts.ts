/** `npm run bench -- parts`: what ingest cannot do without, part by part, between floor and hub. */
import { fork } from "node:child_process";
import type { Benchmark } from "./benchmark.ts";
import { startFloor } from "./floor-process.ts";
import { findCli, startFlags, startHub } from "./hub-process.ts";
import { listener } from "./listener.ts";
import { startLoad } from "./load-process.ts";
import { complaints, type Measured, measure } from "./measure.ts";
import { end, makeFolder, own, removeFolder } from "./owned.ts";
import { median, spread } from "./statistics.ts";
import { figure, percent, range, table } from "./table.ts";
import type { Target } from "./target.ts";

const NAMES = ["and checks the HMAC", "and parses and summarizes", "and stores, fsynced; no more"];

async function startParts(name: string, count: number, folder: string): Promise<Target> {
  const file = new URL("./part-server.ts", import.meta.url);
  const child = own(fork(file, [String(count), folder], { execArgv: startFlags() }));
  const port = await listener<number>(child)();
  return { name, port, pid: child.pid as number, stop: () => end(child) };
}

export const parts: Benchmark = async ({ quick, hub, tell }) => {
  const load = startLoad();
  const folders = NAMES.map(() => makeFolder());
  const targets: Target[] = [await startFloor()];
  const measured = new Map<Target, Measured[]>();
  try {
    for (const [at, name] of NAMES.entries())
      targets.push(await startParts(name, at + 1, folders[at] as string));
    targets.push(await startHub({ cli: findCli(hub), name: "the hub, SQLite" }));
    for (const target of targets) measured.set(target, []);
    for (let round = 0; round <= (quick ? 3 : 9); round += 1)
      for (const [target, rounds] of measured) {
        tell(`parts: round ${round}, ${target.name}`);
        const seconds = round === 0 ? 6 : 2;
        const one = await measure(load, target, { connections: 64, requests: 200_000, seconds });
        // The first one only makes code warm.
        if (round > 0) rounds.push(one);
      }
  } finally {
    for (const target of targets) await target.stop();
    folders.forEach(removeFolder);
  }
  const [floor = []] = measured.values();
  const micros = (rounds: Measured[]) => rounds.map(({ perCpuSecond }) => 1e6 / perCpuSecond);
  const troubles = [...measured].flatMap(([{ name }, rounds]) =>
    rounds.flatMap((round) => complaints(name, round)),
  );
  return {
    tables: [
      {
        title: "Ingest part by part: CPU µs a request, 64 at once, SQLite",
        text: table(
          ["server", "CPU µs", "spread", "of floor"],
          [...measured].map(([{ name }, rounds]) => [
            name,
            figure(median(micros(rounds))),
            range(spread(micros(rounds))),
            percent(
              median(
                rounds.map(
                  ({ perCpuSecond }, at) => perCpuSecond / (floor[at]?.perCpuSecond ?? Number.NaN),
                ),
              ),
            ),
          ]),
        ),
      },
      ...(troubles.length > 0 ? [{ title: "Invalid rounds", text: troubles.join("\n") }] : []),
    ],
    goals: [],
    valid: troubles.length === 0,
    data: Object.fromEntries([...measured].map(([{ name }, rounds]) => [name, rounds])),
  };
};
