/**
 * `npm run bench -- retention`: webhooks at a fixed rate before, while and after retention removes expired
 * events, and what is left of the database's file. A second hub with a copy of the data and without retention
 * gets the same load at the same time: other programs on the machine delay both.
 */
import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { openPostgres } from "../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import type { Backend, Benchmark, Goal, Options, Result } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, type HubProcess, startHub } from "./hub-process.ts";
import type { LoadReport } from "./load.ts";
import { type Load, startLoad } from "./load-process.ts";
import { seed, TENANT } from "./seed.ts";
import { signedWebhooks } from "./signed-webhooks.ts";
import { percentile, sorted } from "./statistics.ts";
import { figure, megabytes, percent, table, times } from "./table.ts";

const PER_SECOND = 60;
/** The sweeper starts at least 30 s after the hub. */
const SECONDS_BEFORE = 20;
const SLICE_SECONDS = 5;
/** How long the file may keep its size until the hub is considered to have finished. */
const STEADY_SECONDS = 20;
/** Two sweeps: the first one still counts the load. */
const WAL_SECONDS = 200;
const LIMIT_SECONDS = 1_500;
const MAX_RATIO = 1.5;
const MAX_FREE_SHARE = 0.15;
const MAX_FREE = 24 * 2 ** 20;
const OLD_MS = 10 * 24 * 3_600_000;

export const retention: Benchmark = async (options) => {
  const cli = findCli(options.hub);
  const loads = [startLoad(), startLoad()] as const;
  const results: Result[] = [];
  for (const backend of options.backends) results.push(await measure(cli, loads, backend, options));
  return {
    tables: results.flatMap(({ tables }) => tables),
    goals: results.flatMap(({ goals }) => goals),
    isValid: results.every(({ isValid }) => isValid),
    data: results.map(({ data }) => data),
  };
};

interface FileSize {
  file: number;
  /** The part of the file without data; undefined for PostgreSQL. */
  free: number | undefined;
  wal: number | undefined;
}

interface Phase {
  name: string;
  seconds: number;
  /** Sorted milliseconds of the hub with retention, and of the other one. */
  latencies: number[];
  control: number[];
}

async function measure(
  cli: string,
  [load, controlLoad]: readonly [Load, Load],
  backend: Backend,
  { quick, reportProgress }: Options,
): Promise<Result> {
  const count = quick ? 50_000 : 300_000;
  const data = makeFolder();
  const server = backend === "postgres" ? await startPostgres() : undefined;
  const databaseUrl = server && (await createDatabase(server.url));
  const file = join(data, "signalbox.db");
  const store = databaseUrl
    ? await openPostgres(storeDefinition, databaseUrl)
    : openSqlite(storeDefinition, file);
  const hubs: HubProcess[] = [];
  try {
    reportProgress(`retention: ${backend}: storing ${count} events`);
    const ids = await seed(store, count);
    for (let at = 0; at < count; at += 1_000) {
      await store.markProcessed(TENANT, ids.slice(at, at + 1_000), Date.now() - OLD_MS, null);
      await sleep(0);
    }
    await store.close();
    const readSize = (): Promise<FileSize> =>
      databaseUrl ? postgresSize(databaseUrl) : Promise.resolve(fileSize(file));

    const controlData = join(data, "control");
    mkdirSync(controlData);
    if (!databaseUrl) copyFileSync(file, join(controlData, "signalbox.db"));
    const controlUrl = databaseUrl && (await copyDatabase(databaseUrl));
    const control = await startHub({
      cli,
      name: "without retention",
      env: { SIGNALBOX_KEEP_PROCESSED_DAYS: "3650" },
      ...(controlUrl ? { databaseUrl: controlUrl } : { data: controlData }),
    });
    hubs.push(control);
    const running = await startHub({
      cli,
      name: "with retention",
      ...(databaseUrl ? { databaseUrl } : { data }),
    });
    hubs.push(running);
    let isValid = true;
    const send = async (seconds: number, phase: Phase): Promise<void> => {
      reportProgress(`retention: ${backend}: ${phase.name}, ${figure(phase.seconds)} s`);
      const sendTo = async ({ port }: HubProcess, { run }: Load): Promise<Iterable<number>> => {
        const report: LoadReport = await run({
          ...signedWebhooks(port),
          connections: 8,
          requests: PER_SECOND * seconds,
          seconds: seconds + 1,
          rate: PER_SECOND,
          hasDetails: true,
        });
        isValid &&= report.isValid;
        return report.details?.latencies ?? [];
      };
      const [own, other] = await Promise.all([sendTo(running, load), sendTo(control, controlLoad)]);
      phase.seconds += seconds;
      phase.latencies = sorted([...phase.latencies, ...own]);
      phase.control = sorted([...phase.control, ...other]);
    };
    const newPhase = (name: string): Phase => ({ name, seconds: 0, latencies: [], control: [] });

    await send(3, newPhase("warm-up"));
    const before = newPhase("before");
    await send(SECONDS_BEFORE, before);
    const sizeBefore = await readSize();
    if ((await sweptCount(running)) > 0) throw new Error("retention has started too early");
    while ((await sweptCount(running)) === 0) await sleep(20);

    const during = newPhase("events are removed");
    while ((await sweptCount(running)) < count && during.seconds < LIMIT_SECONDS)
      await send(SLICE_SECONDS, during);
    const swept = await sweptCount(running);
    // With a load of its own: giving back space must not delay webhooks either.
    const shrinking = newPhase("space is given back");
    let size = await readSize();
    for (let steady = 0; steady < STEADY_SECONDS && shrinking.seconds < LIMIT_SECONDS; ) {
      await send(SLICE_SECONDS, shrinking);
      const next = await readSize();
      steady = next.file < size.file ? 0 : steady + SLICE_SECONDS;
      size = next;
    }
    const after = newPhase("after");
    await send(SECONDS_BEFORE, after);
    size = await readSize();
    // Without load, the hub truncates the WAL at the end of a sweep.
    for (let waited = 0; (size.wal ?? 0) > 2 ** 20 && waited < WAL_SECONDS; waited += 1) {
      reportProgress(`retention: ${backend}: waiting for the end of the WAL, ${waited} s`);
      await sleep(1_000);
      size = await readSize();
    }

    const phases = [before, during, shrinking, after];
    const ratio = Math.max(
      ...[during, shrinking].map(
        ({ latencies, control }) => percentile(latencies, 0.99) / percentile(control, 0.99),
      ),
    );
    const perSecond = swept / during.seconds;
    const goals: Goal[] = [
      {
        what: `retention of ${figure(count)} events (${backend}): p99 of webhooks at most ${MAX_RATIO}× of that of a hub without it`,
        isMet: ratio <= MAX_RATIO,
        result: times(ratio),
      },
    ];
    if (backend === "sqlite")
      goals.push({
        what: `at most ${percent(MAX_FREE_SHARE)} of the SQLite file are free, or ${megabytes(MAX_FREE)}`,
        isMet: (size.free ?? 0) <= Math.max(MAX_FREE, size.file * MAX_FREE_SHARE),
        result: `${megabytes(size.free ?? 0)} of ${megabytes(size.file)}`,
      });
    return {
      tables: [
        {
          title: `${PER_SECOND} webhooks per second, ${backend}: milliseconds to the 202; retention removed ${figure(perSecond)} events per second`,
          text: table(
            ["phase", "seconds", "p50", "p90", "p99", "max", "without: p50", "p90", "p99", "max"],
            phases.map(({ name, seconds, latencies, control }) => [
              name,
              figure(seconds),
              ...[latencies, control].flatMap((values) =>
                [0.5, 0.9, 0.99, 1].map((share) => figure(percentile(values, share))),
              ),
            ]),
          ),
        },
        {
          title: `The database, ${backend}`,
          text: table(
            ["", "file", "free", "WAL"],
            [
              ["before", ...sizeCells(sizeBefore)],
              ["after", ...sizeCells(size)],
            ],
          ),
        },
      ],
      goals,
      isValid: isValid && swept === count,
      data: {
        backend,
        count,
        swept,
        perSecond,
        sizeBefore,
        sizeAfter: size,
        phases: phases.map(({ name, seconds, latencies, control }) => ({
          name,
          seconds,
          p50: percentile(latencies, 0.5),
          p99: percentile(latencies, 0.99),
          max: percentile(latencies, 1),
          controlP99: percentile(control, 0.99),
        })),
      },
    };
  } finally {
    for (const hub of hubs) await hub.stop();
    await server?.stop();
    removeFolder(data);
  }
}

const sizeCells = ({ file, free, wal }: FileSize) =>
  [file, free, wal].map((bytes) => (bytes === undefined ? "" : megabytes(bytes)));

async function sweptCount({ port }: HubProcess): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const [, value = "0"] =
    /^signalbox_swept_events_total\{why="processed"\} (\d+)/m.exec(text) ?? [];
  return Number(value);
}

function fileSize(file: string): FileSize {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const pragma = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
    return {
      file: statSync(file).size,
      free: pragma("freelist_count") * pragma("page_size"),
      wal: statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    };
  } finally {
    db.close();
  }
}

/** Returns the URL of the copy. */
async function copyDatabase(databaseUrl: string): Promise<string> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const copy = `${name}_control`;
  const client = new pg.Client({ connectionString: new URL("/postgres", databaseUrl).href });
  await client.connect();
  await client.query(`CREATE DATABASE ${copy} TEMPLATE ${name}`);
  await client.end();
  return new URL(`/${copy}`, databaseUrl).href;
}

async function postgresSize(connectionString: string): Promise<FileSize> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ size: string }>(
      "SELECT pg_database_size(current_database()) AS size",
    );
    return { file: Number(rows[0]?.size), free: undefined, wal: undefined };
  } finally {
    await client.end();
  }
}
