/** `npm run bench -- profile`: CPU profile of the hub by function, concurrency 64, SQLite. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Benchmark } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, startHub } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { invalidReasons, measure } from "./measure.ts";
import { figure, percent, table } from "./table.ts";

const MAX_ROWS = 40;

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

interface Cost {
  where: string;
  micros: number;
}

export const profile: Benchmark = async ({ quick, hub: cliPath, reportProgress }) => {
  const cli = findCli(cliPath);
  const folder = makeFolder();
  const load = startLoad();
  try {
    reportProgress("profile: the hub under load");
    const nodeOptions = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=250"];
    const hub = await startHub({ cli, name: "hub, SQLite", nodeOptions });
    const shape = { connections: 64, requests: 200_000, seconds: quick ? 4 : 12 };
    const measured = await measure(load, hub, shape).finally(() => hub.stop());
    const [file] = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"));
    if (!file) throw new Error("the hub wrote no profile");
    const costs = selfTimes(JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile);
    const busy = costs.reduce((sum, { micros }) => sum + micros, 0);
    const problems = invalidReasons(hub.name, measured);
    return {
      tables: [
        {
          title: `Self time by function: ${figure(busy / 1e6)} s of CPU, ${figure(measured.completed)} requests (start included)`,
          text: table(
            ["function", "share", "µs/request"],
            costs
              .slice(0, MAX_ROWS)
              .map(({ where, micros }) => [
                where,
                percent(micros / busy),
                figure(micros / measured.completed),
              ]),
          ),
        },
        ...(problems.length > 0 ? [{ title: "Invalid", text: problems.join("\n") }] : []),
      ],
      goals: [],
      isValid: measured.isValid,
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
