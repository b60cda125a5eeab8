/** `npm run bench -- start`: from the spawn to the first answer, and the memory of a hub at rest. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../packages/hub/src/store/backends/sqlite.ts";
import type { Benchmark } from "./benchmark.ts";
import { findCli, startHub } from "./hub-process.ts";
import { makeFolder, removeFolder } from "./owned.ts";
import { residentBytes } from "./process-facts.ts";
import { seed } from "./seed.ts";
import { type Spread, spread } from "./statistics.ts";
import { figure, megabytes, range, table } from "./table.ts";

const GOAL_MS = 1_000;
const GOAL_BYTES = 120 * 2 ** 20;
const REST_MS = 3_000;
const EXISTING_EVENTS = 10_000;

interface Line {
  folder: string;
  answerMs: Spread;
  /** By the hub's own clock, from its log. */
  listeningMs: Spread;
  restBytes: Spread;
}

export const start: Benchmark = async ({ quick, hub: asked, tell }) => {
  const cli = findCli(asked);
  const starts = quick ? 3 : 10;
  const existing = makeFolder();
  const lines: Line[] = [];
  try {
    const store = openSqlite(join(existing, "signalbox.db"));
    await seed(store, EXISTING_EVENTS);
    await store.close();
    await (await startHub({ cli, name: "hub", data: existing })).stop(); // makes its key and token
    for (const folder of ["new", "existing"]) {
      const answer: number[] = [];
      const listening: number[] = [];
      const rest: number[] = [];
      for (let at = 1; at <= starts; at += 1) {
        tell(`start: ${folder} data folder: ${at} of ${starts}`);
        const data = folder === "existing" ? { data: existing } : {};
        const hub = await startHub({ cli, name: "hub", ...data });
        try {
          await sleep(REST_MS);
          answer.push(hub.startedInMs);
          listening.push(Number(hub.log().find(({ msg }) => msg === "listening")?.startedIn));
          rest.push(residentBytes(hub.pid));
        } finally {
          await hub.stop();
        }
      }
      lines.push({
        folder,
        answerMs: spread(answer),
        listeningMs: spread(listening),
        restBytes: spread(rest),
      });
    }
  } finally {
    removeFolder(existing);
  }
  const slowest = Math.max(...lines.map(({ answerMs }) => answerMs.median));
  const largest = Math.max(...lines.map(({ restBytes }) => restBytes.median));
  return {
    tables: [
      {
        title: `Start, SQLite, median of ${starts}; memory ${REST_MS / 1000} s later`,
        text: table(
          ["data folder", "first answer ms", "spread", "listening by its own clock ms", "idle RSS"],
          lines.map(({ folder, answerMs, listeningMs, restBytes }) => [
            folder === "new" ? "new" : `existing, ${figure(EXISTING_EVENTS)} events`,
            figure(answerMs.median),
            range(answerMs),
            figure(listeningMs.median),
            megabytes(restBytes.median),
          ]),
        ),
      },
    ],
    goals: [
      {
        what: `From the spawn to the first answer within ${figure(GOAL_MS)} ms`,
        met: slowest <= GOAL_MS,
        found: `${figure(slowest)} ms`,
      },
      {
        what: `Idle RSS at most ${megabytes(GOAL_BYTES)}`,
        met: largest <= GOAL_BYTES,
        found: megabytes(largest),
      },
    ],
    valid: true,
    data: lines,
  };
};
