/**
 * `npm run bench -- filters`: webhooks whose trigger has a filter, compared with the same webhooks and a
 * trigger without one. Both start the same trivial flow. Measures the webhooks per CPU-second of the hub and its
 * sandbox, and the latency of the responses while two other processes use the CPU.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../packages/hub/src/store.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import type { Benchmark, Goal } from "./benchmark.ts";
import { makeFolder, removeFolder, stopProcess, trackProcess } from "./cleanup.ts";
import { flowNode, publishFlow } from "./flow-engine.ts";
import { findCli, type HubProcess, startHub } from "./hub-process.ts";
import type { LoadReport } from "./load.ts";
import { type Load, startLoad } from "./load-process.ts";
import { cpuSecondsWithChildren } from "./process-stats.ts";
import { TENANT } from "./seed.ts";
import { signedWebhooks } from "./signed-webhooks.ts";
import { median, percentile, sorted } from "./statistics.ts";
import { figure, percent, table, times } from "./table.ts";

/** The hub evaluates a simple filter itself. A regular expression is evaluated by a worker of the sandbox. */
const SIMPLE = 'data.issue.number > 0 and $contains(data.repository.full_name, "/")';
const COMPLEX = "data.issue.number > 0 and $contains(data.repository.full_name, /[/]/)";
const SHARE_GOAL = 0.7;
const LATENCY_GOAL = 1.5;
/** About a quarter of what the hub can store beside two busy processes on two cores. */
const RATE = 150;

const NO_FILTER = "no filter";
const FILTERS: Record<string, string> = { "a filter": SIMPLE, "a regular expression": COMPLEX };
/** The types of the events, each with its own flow. */
const KINDS = [
  { name: NO_FILTER, type: "issues" },
  { name: "a filter", type: "label" },
  { name: "a regular expression", type: "milestone" },
] as const;
type Kind = (typeof KINDS)[number];

interface Round {
  report: LoadReport;
  perCpuSecond: number;
  /** Finished runs per second, until all runs of the round have ended. */
  runsPerSecond: number;
}

export const filters: Benchmark = async ({ quick, hub: path, reportProgress }) => {
  const load = startLoad();
  const data = makeFolder();
  const store = openSqlite(storeDefinition, join(data, "signalbox.db"));
  const flows = new Map<Kind, string>();
  for (const kind of KINDS)
    flows.set(
      kind,
      await publishFlow(store, [
        flowNode("on", "Event", {
          source: "github",
          type: kind.type,
          ...(kind.name !== NO_FILTER && { filter: FILTERS[kind.name] as string }),
        }),
        flowNode("end", "Return", { value: "done" }),
      ]),
    );
  const hub = await startHub({ cli: findCli(path), name: "hub", data });
  const full: Record<string, Round[]> = Object.fromEntries(KINDS.map(({ name }) => [name, []]));
  const beside: Record<string, LoadReport[]> = Object.fromEntries(
    KINDS.map(({ name }) => [name, []]),
  );
  try {
    const rounds = quick ? 3 : 5;
    for (let round = 0; round <= rounds; round += 1)
      for (const kind of KINDS) {
        reportProgress(`filters: ${kind.name}, round ${round}`);
        const measured = await measureRound(load, hub, store, kind, quick ? 2_000 : 6_000);
        // Round 0 is the warm-up.
        if (round > 0) full[kind.name]?.push(measured);
      }
    const loops = [startBusyLoop(), startBusyLoop()];
    for (let round = 0; round < rounds; round += 1)
      for (const kind of KINDS) {
        reportProgress(`filters: ${kind.name} beside busy loops, round ${round}`);
        const seconds = quick ? 4 : 10;
        const report = await load.run({
          ...signedWebhooks(hub.port, undefined, kind.type),
          connections: 32,
          requests: RATE * seconds,
          seconds,
          rate: RATE,
          hasDetails: true,
        });
        await waitForRuns(store);
        beside[kind.name]?.push(report);
      }
    for (const loop of loops) await stopProcess(loop);
    const runs = await Promise.all(
      KINDS.map((kind) => store.listRuns({ tenant: TENANT, limit: 1, flow: flows.get(kind) })),
    );
    if (runs.some(({ length }) => length === 0)) throw new Error("a flow has no runs");
  } finally {
    await hub.stop();
    await store.close();
    removeFolder(data);
  }
  const of = (name: string, value: (round: Round) => number) =>
    median((full[name] as Round[]).map(value));
  /** Of all rounds together, because the p99 of one round varies. */
  const latencies = new Map(
    Object.entries(beside).map(([name, reports]) => [
      name,
      sorted(reports.flatMap(({ details }) => [...(details?.latencies ?? [])])),
    ]),
  );
  const latency = (name: string, share: number) => percentile(latencies.get(name) ?? [], share);
  const goalsOf = (name: string): Goal[] => {
    const share =
      of(name, (round) => round.perCpuSecond) / of(NO_FILTER, (round) => round.perCpuSecond);
    const ratio = latency(name, 0.99) / latency(NO_FILTER, 0.99);
    return [
      {
        what: `Webhooks per CPU-second with ${name} at least ${percent(SHARE_GOAL)} of those without a filter`,
        isMet: share >= SHARE_GOAL,
        result: percent(share),
      },
      {
        what: `p99 beside two busy processes with ${name} at most ${times(LATENCY_GOAL)} of that without a filter`,
        isMet: ratio <= LATENCY_GOAL,
        result: times(ratio),
      },
    ];
  };
  return {
    tables: [
      {
        title: "Webhooks of 10 KB, each starts a run, concurrency 32",
        text: table(
          ["trigger with", "webhooks/s", "p50 ms", "p99 ms", "finished runs/s", "per CPU-second"],
          KINDS.map(({ name }) => [
            name,
            figure(of(name, ({ report }) => report.perSecond)),
            figure(of(name, ({ report }) => report.latency.p50)),
            figure(of(name, ({ report }) => report.latency.p99)),
            figure(of(name, (round) => round.runsPerSecond)),
            figure(of(name, (round) => round.perCpuSecond)),
          ]),
        ),
      },
      {
        title: `${RATE} webhooks per second beside two processes that use the CPU`,
        text: table(
          ["trigger with", "p50 ms", "p99 ms", "max ms"],
          KINDS.map(({ name }) => [
            name,
            ...[0.5, 0.99, 1].map((share) => figure(latency(name, share))),
          ]),
        ),
      },
    ],
    goals: Object.keys(FILTERS).flatMap(goalsOf),
    isValid:
      Object.values(full).every((all) => all.every(({ report }) => report.isValid)) &&
      Object.values(beside).every((all) => all.every(({ isValid }) => isValid)),
    data: {
      full,
      beside: Object.fromEntries(
        KINDS.map(({ name }) => [name, [0.5, 0.99, 1].map((share) => latency(name, share))]),
      ),
    },
  };
};

async function measureRound(
  load: Load,
  hub: HubProcess,
  store: Store,
  { type }: Kind,
  requests: number,
): Promise<Round> {
  const cpuBefore = cpuSecondsWithChildren(hub.pid);
  const startedAt = performance.now();
  const report = await load.run({
    ...signedWebhooks(hub.port, undefined, type),
    connections: 32,
    requests,
    seconds: 60,
    rate: undefined,
  });
  await waitForRuns(store);
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    report,
    perCpuSecond: report.completed / (cpuSecondsWithChildren(hub.pid) - cpuBefore),
    runsPerSecond: report.completed / seconds,
  };
}

async function waitForRuns(store: Store): Promise<void> {
  for (;;) {
    const open = await Promise.all(
      (["queued", "running"] as const).map((status) =>
        store.listRuns({ tenant: TENANT, limit: 1, status }),
      ),
    );
    if (open.every(({ length }) => length === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const startBusyLoop = () =>
  trackProcess(spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }));
