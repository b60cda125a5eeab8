/** `npm run bench -- profile`: in which functions the hub spends its time, at 64 at once on SQLite. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Benchmark } from "./benchmark.ts";
import { findCli, startHub } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { complaints, measure } from "./measure.ts";
import { makeFolder, removeFolder } from "./owned.ts";
import { figure, percent, table } from "./table.ts";

const SHOWN = 40;

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

interface Cost {
  where: string;
  micros: number;
}

export const profile: Benchmark = async ({ quick, hub: asked, tell }) => {
  const cli = findCli(asked);
  const folder = makeFolder();
  const load = startLoad();
  try {
    tell("profile: the hub under load");
    const nodeOptions = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=250"];
    const hub = await startHub({ cli, name: "hub, SQLite", nodeOptions });
    const shape = { connections: 64, requests: 200_000, seconds: quick ? 4 : 12 };
    const measured = await measure(load, hub, shape).finally(() => hub.stop());
    const [file] = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"));
    if (!file) throw new Error("the hub left no profile");
    const costs = selfTimes(JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile);
    const busy = costs.reduce((sum, { micros }) => sum + micros, 0);
    const troubles = complaints(hub.name, measured);
    return {
      tables: [
        {
          title: `Self time, of ${figure(busy / 1e6)} s busy and ${figure(measured.answered)} requests (start included)`,
          text: table(
            ["function", "share", "µs/request"],
            costs
              .slice(0, SHOWN)
              .map(({ where, micros }) => [
                where,
                percent(micros / busy),
                figure(micros / measured.answered),
              ]),
          ),
        },
        ...(troubles.length > 0 ? [{ title: "Invalid", text: troubles.join("\n") }] : []),
      ],
      goals: [],
      valid: measured.valid,
      data: { measured, costs },
    };
  } finally {
    removeFolder(folder);
  }
};

function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): Cost[] {
  const where = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const name = functionName || "(anonymous)";
      const file =
        url === "" ? "" : ` ${url.startsWith("node:") ? url : basename(url)}:${lineNumber + 1}`;
      return [id, `${name}${file}`];
    }),
  );
  const micros = new Map<string, number>();
  samples.forEach((sample, at) => {
    const name = where.get(sample) ?? "(unknown)";
    micros.set(name, (micros.get(name) ?? 0) + (timeDeltas[at] ?? 0));
  });
  micros.delete("(idle)");
  return [...micros]
    .map(([name, spent]) => ({ where: name, micros: spent }))
    .sort((a, b) => b.micros - a.micros);
}
