/**
 * `npm run bench -- soak`: one tenant runs all attacks of soak-attacks.ts in parallel, in a loop, while
 * another tenant sends signed webhooks at a fixed rate. At the end, each acknowledged webhook must be
 * stored exactly once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import type { Backend, Benchmark, Options } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, type HubProcess, startHub } from "./hub-process.ts";
import type { LoadReport } from "./load.ts";
import { type Load, startLoad } from "./load-process.ts";
import { signedWebhooks } from "./signed-webhooks.ts";
import { startAttackers } from "./soak-attackers.ts";
import { observeHub } from "./soak-observer.ts";
import { type Part, RATE, reportSoak, type Soak } from "./soak-report.ts";
import { acknowledgedIds, checkStored } from "./soak-stored.ts";
import { createTenants, SOAK_SETTINGS, VICTIM } from "./soak-tenants.ts";

/** So many that webhooks rarely wait for a connection. */
const CONNECTIONS = 128;
const DEFAULT_MINUTES = 10;
const REST_SECONDS = 120;

export const soak: Benchmark = async (options) => {
  const cli = findCli(options.hub);
  const load = startLoad();
  const soaks: Soak[] = [];
  for (const backend of options.backends)
    soaks.push(await soakBackend(options, backend, cli, load));
  return reportSoak(soaks);
};

async function soakBackend(
  options: Options,
  backend: Backend,
  cli: string,
  load: Load,
): Promise<Soak> {
  const { quick, reportProgress } = options;
  const seconds = (options.minutes ?? (quick ? 1 : DEFAULT_MINUTES)) * 60;
  const postgres = backend === "postgres" ? await startPostgres() : undefined;
  const databaseUrl = postgres && (await createDatabase(postgres.url));
  const data = makeFolder();
  const hub = await startHub({
    cli,
    name: backend,
    data,
    env: SOAK_SETTINGS,
    ...(databaseUrl !== undefined && { databaseUrl }),
  });
  const observer = observeHub(hub);
  const acknowledged = new Set<string>();
  const parts: Part[] = [];
  const addLoad = async (name: string, duration: number) => {
    reportProgress(`soak: ${backend}: ${name}`);
    const report = await sendLoad(hub, load, duration, acknowledged);
    parts.push({ name, load: report, ...(await observer.take()) });
  };
  const isRunning = (end: number) => observer.isAlive() && performance.now() < end - 1_000;
  try {
    const tenants = await createTenants(`http://127.0.0.1:${hub.port}`);
    await addLoad("before", quick ? 10 : 30);
    reportProgress(`soak: ${backend}: preparing the attacks`);
    const attackers = await startAttackers(tenants.target);
    await observer.take();
    const end = performance.now() + seconds * 1000;
    while (isRunning(end)) {
      const left = (end - performance.now()) / 1000;
      await addLoad(`attacks ${parts.length}`, Math.min(left, quick ? 15 : 60));
    }
    reportProgress(`soak: ${backend}: ending the attacks`);
    const attacks = await attackers.stop();
    reportProgress(`soak: ${backend}: ${REST_SECONDS} s without load`);
    await observer.take();
    await sleep(REST_SECONDS * 1000);
    parts.push({ name: `${REST_SECONDS} s after`, load: undefined, ...(await observer.take()) });
    const isAlive = observer.isAlive();
    const isSessionOpen = isAlive && (await tenants.isSessionOpen());
    const log = hub.log();
    await hub.stop();
    const tenant = String(VICTIM.account);
    const stored = await checkStored({ data, databaseUrl }, tenant, acknowledged);
    return { backend, parts, attacks, isAlive, log, isSessionOpen, stored };
  } finally {
    observer.stop();
    await hub.stop();
    await postgres?.stop();
    removeFolder(data);
  }
}

/** Sends webhooks and adds the ids of those with a 2xx response to `acknowledged`. */
async function sendLoad(
  { port }: HubProcess,
  load: Load,
  seconds: number,
  acknowledged: Set<string>,
): Promise<LoadReport> {
  const webhooks = signedWebhooks(port, VICTIM.installation);
  const report = await load.run({
    ...webhooks,
    connections: CONNECTIONS,
    requests: Math.ceil(RATE * seconds),
    seconds,
    rate: RATE,
    hasDetails: true,
  });
  for (const id of acknowledgedIds(webhooks, report)) acknowledged.add(id);
  return report;
}
