/** `npm run bench -- start`: time to the first response, and memory of an idle hub. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import type { Benchmark } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, startHub } from "./hub-process.ts";
import { residentBytes } from "./process-stats.ts";
import { seed } from "./seed.ts";
import { type Spread, spread } from "./statistics.ts";
import { figure, megabytes, range, table } from "./table.ts";

const GOAL_MS = 1_000;
const GOAL_BYTES = 120 * 2 ** 20;
const IDLE_MS = 3_000;
const EXISTING_EVENTS = 10_000;

interface Line {
  folder: string;
  responseMs: Spread;
  /** `startedIn` of the hub's log. */
  listeningMs: Spread;
  idleBytes: Spread;
}

export const start: Benchmark = async ({ quick, hub: cliPath, reportProgress }) => {
  const cli = findCli(cliPath);
  const starts = quick ? 3 : 10;
  const existing = makeFolder();
  const lines: Line[] = [];
  try {
    const store = openSqlite(storeDefinition, join(existing, "signalbox.db"));
    await seed(store, EXISTING_EVENTS);
    await store.close();
    await (await startHub({ cli, name: "hub", data: existing })).stop(); // creates its key and token
    for (const folder of ["new", "existing"]) {
      const response: number[] = [];
      const listening: number[] = [];
      const idle: number[] = [];
      for (let at = 1; at <= starts; at += 1) {
        reportProgress(`start: ${folder} data folder: ${at} of ${starts}`);
        const data = folder === "existing" ? { data: existing } : {};
        const hub = await startHub({ cli, name: "hub", ...data });
        try {
          await sleep(IDLE_MS);
          response.push(hub.startedInMs);
          listening.push(Number(hub.log().find(({ msg }) => msg === "listening")?.startedIn));
          idle.push(residentBytes(hub.pid));
        } finally {
          await hub.stop();
        }
      }
      lines.push({
        folder,
        responseMs: spread(response),
        listeningMs: spread(listening),
        idleBytes: spread(idle),
      });
    }
  } finally {
    removeFolder(existing);
  }
  const slowest = Math.max(...lines.map(({ responseMs }) => responseMs.median));
  const largest = Math.max(...lines.map(({ idleBytes }) => idleBytes.median));
  return {
    tables: [
      {
        title: `Start, SQLite, median of ${starts}; memory after ${IDLE_MS / 1000} s`,
        text: table(
          ["data folder", "first response ms", "spread", "listening ms (hub's log)", "idle RSS"],
          lines.map(({ folder, responseMs, listeningMs, idleBytes }) => [
            folder === "new" ? "new" : `existing, ${figure(EXISTING_EVENTS)} events`,
            figure(responseMs.median),
            range(responseMs),
            figure(listeningMs.median),
            megabytes(idleBytes.median),
          ]),
        ),
      },
    ],
    goals: [
      {
        what: `From the spawn to the first response at most ${figure(GOAL_MS)} ms`,
        isMet: slowest <= GOAL_MS,
        result: `${figure(slowest)} ms`,
      },
      {
        what: `Idle RSS at most ${megabytes(GOAL_BYTES)}`,
        isMet: largest <= GOAL_BYTES,
        result: megabytes(largest),
      },
    ],
    isValid: true,
    data: lines,
  };
};
