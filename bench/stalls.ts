/**
 * `npm run bench -- stalls`: what a flow feels while another one stalls or floods. Runs wait for a server
 * that never answers, thousands of runs wait for a timer, and one of ten tenants starts 2,000 runs per
 * second.
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { openPostgres } from "../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../packages/hub/src/store.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { deliver } from "../test/support/deliver.ts";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import type { Benchmark, Goal, Options, Result } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { flowNode, publishFlow } from "./flow-engine.ts";
import { findCli, type HubProcess, startHub } from "./hub-process.ts";
import { type Load, startLoad } from "./load-process.ts";
import { residentBytes } from "./process-stats.ts";
import { SECRET, signedWebhooks } from "./signed-webhooks.ts";
import { median, percentile, sorted } from "./statistics.ts";
import { figure, megabytes, table, times } from "./table.ts";

interface Setup {
  cli: string;
  load: Load;
  options: Options;
}

export const stalls: Benchmark = async (options) => {
  const setup = { cli: findCli(options.hub), load: startLoad(), options };
  const results: Result[] = [];
  if (options.backends.includes("sqlite")) {
    for (const count of options.quick ? [200] : [200, 5_000])
      results.push(await measureDeadServer(setup, count));
    results.push(await measureWaits(setup, options.quick ? 1_000 : 5_000));
    results.push(await measureFlood(setup, 1));
  }
  if (options.backends.includes("postgres"))
    for (const replicas of [1, 3]) results.push(await measureFlood(setup, replicas, "postgres"));
  return {
    tables: results.flatMap(({ tables }) => tables),
    goals: results.flatMap(({ goals }) => goals),
    isValid: results.every(({ isValid }) => isValid),
    data: results.map(({ data }) => data),
  };
};

/** Tenants are GitHub accounts. Their webhooks name an installation. */
const SETTINGS = {
  SIGNALBOX_TENANCY: "github",
  SIGNALBOX_QUOTA: "0", // no limit
  SIGNALBOX_ALLOW_PRIVATE: "on",
};
const installationOf = (tenant: number) => 1_000 + tenant;

interface Flow {
  tenant: number;
  app: string;
  /** The type of the events that start the flow. */
  type: string;
  nodes?: FlowNode[];
}

/** Evaluates nothing in a sandbox, calls no server, and ends. */
const TRIVIAL = [flowNode("end", "Return", { value: "done" })];

interface Hubs {
  hubs: HubProcess[];
  store: Store;
  /** The ids of the flows, in their order. */
  flowIds: string[];
}

/** Starts hubs with these flows, and stops them after `work`. */
async function withHubs<Value>(
  { cli }: Setup,
  flows: readonly Flow[],
  { replicas = 1, backend = "sqlite" }: { replicas?: number; backend?: "sqlite" | "postgres" },
  work: (hubs: Hubs) => Promise<Value>,
): Promise<Value> {
  const data = makeFolder();
  const server = backend === "postgres" ? await startPostgres() : undefined;
  const databaseUrl = server && (await createDatabase(server.url));
  const store = databaseUrl
    ? await openPostgres(storeDefinition, databaseUrl)
    : openSqlite(storeDefinition, join(data, "signalbox.db"));
  const hubs: HubProcess[] = [];
  try {
    const flowIds: string[] = [];
    for (const { tenant, app, type, nodes = TRIVIAL } of flows)
      flowIds.push(
        await publishFlow(store, [flowNode("on", "Event", { source: "github", type }), ...nodes], {
          tenant: String(tenant),
          app,
        }),
      );
    for (let replica = 0; replica < replicas; replica += 1)
      hubs.push(
        await startHub({
          cli,
          name: `replica ${replica}`,
          env: SETTINGS,
          ...(databaseUrl ? { databaseUrl } : { data }),
        }),
      );
    for (const tenant of new Set(flows.map((flow) => flow.tenant))) await install(hubs[0], tenant);
    return await work({ hubs, store, flowIds });
  } finally {
    for (const hub of hubs) await hub.stop();
    await store.close();
    await server?.stop();
    removeFolder(data);
  }
}

async function send(hub: HubProcess | undefined, type: string, body: object): Promise<void> {
  const response = await deliver(`http://127.0.0.1:${hub?.port}`, {
    type,
    secret: SECRET,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${type}: ${response.status} ${await response.text()}`);
  await response.body?.cancel();
}

const install = (hub: HubProcess | undefined, tenant: number): Promise<void> =>
  send(hub, "installation", {
    action: "created",
    installation: {
      id: installationOf(tenant),
      account: { id: tenant, login: `account-${tenant}` },
    },
  });

/** The milliseconds between the start and the end of each run of a flow, sorted. */
interface Durations {
  p50: number;
  p99: number;
  max: number;
}

/** Starts a flow `count` times, evenly distributed over the hubs, and waits until all its runs have ended. */
async function startAtRate(
  { hubs, store }: Hubs,
  { flow, id, count, rate }: { flow: Flow; id: string; count: number; rate: number },
): Promise<Durations> {
  const startedAt = performance.now();
  const sent: Promise<void>[] = [];
  for (let at = 0; at < count; at += 1) {
    await until(startedAt + (at * 1000) / rate);
    const body = { action: "opened", installation: { id: installationOf(flow.tenant) } };
    sent.push(send(hubs[at % hubs.length], flow.type, body));
  }
  await Promise.all(sent);
  return durationsOf(await endedRuns(store, flow, id, count));
}

const until = (at: number) =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, at - performance.now())));

const LIMIT_MS = 120_000;

/** Resolves with the durations of the newest `count` runs of a flow when all have ended. */
async function endedRuns(
  store: Store,
  { tenant }: Flow,
  flow: string,
  count: number,
): Promise<number[]> {
  for (let waited = 0; waited < LIMIT_MS; waited += 50) {
    const runs = await store.listRuns({ tenant: String(tenant), flow, limit: count });
    const ended = runs.flatMap(({ created_at, finished_at }) =>
      finished_at === null ? [] : [finished_at - created_at],
    );
    if (ended.length === count) return ended;
    await until(performance.now() + 50);
  }
  throw new Error(`not all runs ended within ${LIMIT_MS} ms`);
}

function durationsOf(values: readonly number[]): Durations {
  const all = sorted(values);
  return { p50: percentile(all, 0.5), p99: percentile(all, 0.99), max: percentile(all, 1) };
}

const cells = ({ p50, p99, max }: Durations) => [p50, p99, max].map(figure);

async function measureDeadServer(setup: Setup, count: number): Promise<Result> {
  const { load, options } = setup;
  const dead = createServer(() => {}).listen(0, "127.0.0.1");
  await once(dead, "listening");
  const url = `http://127.0.0.1:${(dead.address() as AddressInfo).port}/`;
  const stuck = [flowNode("call", "HttpRequest", { method: "GET", url })];
  const flows: Flow[] = [
    { tenant: 1, app: "busy", type: "issues", nodes: stuck },
    { tenant: 1, app: "other", type: "push" },
    { tenant: 1, app: "busy", type: "release" },
    { tenant: 2, app: "busy", type: "push" },
  ];
  const names = ["another app", "the same app", "another tenant"];
  const goals = [250, 500, 250];
  try {
    return await withHubs(setup, flows, {}, async (hubs) => {
      const measureInnocent = async (name: string): Promise<Durations[]> => {
        const durations: Durations[] = [];
        for (const [at, flow] of flows.entries()) {
          if (at === 0) continue;
          options.reportProgress(`stalls: ${count} runs on a dead server: ${name}, ${flow.type}`);
          const id = hubs.flowIds[at] as string;
          const rate = 20;
          durations.push(
            await startAtRate(hubs, { flow, id, count: options.quick ? 50 : 200, rate }),
          );
        }
        return durations;
      };
      const before = await measureInnocent("before");
      const hub = hubs.hubs[0] as HubProcess;
      const burst = await load.run({
        ...signedWebhooks(hub.port, installationOf(1)),
        connections: 16,
        requests: count,
        seconds: 60,
        rate: undefined,
      });
      const during = await measureInnocent("during");
      const rss = residentBytes(hub.pid);
      return {
        tables: [
          {
            title: `${figure(count)} runs wait for a server that never answers: milliseconds from the start of an innocent run to its end (RSS ${megabytes(rss)})`,
            text: table(
              ["flow", "before: p50", "p99", "max", "during: p50", "p99", "max"],
              names.map((name, at) => [
                name,
                ...cells(before[at] as Durations),
                ...cells(during[at] as Durations),
              ]),
            ),
          },
        ],
        goals: names.map((name, at): Goal => {
          const { p99 } = during[at] as Durations;
          const goal = goals[at] as number;
          return {
            what: `${figure(count)} runs on a dead server: p99 of a flow of ${name} at most ${goal} ms`,
            isMet: p99 <= goal,
            result: `${figure(p99)} ms`,
          };
        }),
        isValid: burst.isValid,
        data: { count, before, during, rss },
      };
    });
  } finally {
    dead.close();
  }
}

const WAIT_GOAL_S = 15;
const RSS_GOAL = 300 * 2 ** 20;

async function measureWaits(setup: Setup, count: number): Promise<Result> {
  const { load, options } = setup;
  const flow: Flow = {
    tenant: 1,
    app: "waits",
    type: "issues",
    nodes: [flowNode("wait", "Wait", { seconds: 2 })],
  };
  return withHubs(setup, [flow], {}, async ({ hubs, store, flowIds }) => {
    options.reportProgress(`stalls: ${count} runs that wait 2 s`);
    const hub = hubs[0] as HubProcess;
    let rss = 0;
    const watch = setInterval(() => {
      rss = Math.max(rss, residentBytes(hub.pid));
    }, 50);
    const burst = await load.run({
      ...signedWebhooks(hub.port, installationOf(1)),
      connections: 16,
      requests: count,
      seconds: 60,
      rate: undefined,
    });
    const sentAt = performance.now();
    await endedRuns(store, flow, flowIds[0] as string, count);
    const seconds = (performance.now() - sentAt) / 1000;
    clearInterval(watch);
    return {
      tables: [],
      goals: [
        {
          what: `${figure(count)} runs that wait 2 s end at most ${WAIT_GOAL_S} s after the last webhook`,
          isMet: seconds <= WAIT_GOAL_S,
          result: `${figure(seconds)} s`,
        },
        {
          what: `RSS of the hub meanwhile at most ${megabytes(RSS_GOAL)}`,
          isMet: rss <= RSS_GOAL,
          result: megabytes(rss),
        },
      ],
      isValid: burst.isValid,
      data: { count, seconds, rss },
    };
  });
}

const FLOOD_PER_SECOND = 2_000;
const NORMAL_TENANTS = 9;

async function measureFlood(
  setup: Setup,
  replicas: number,
  backend: "sqlite" | "postgres" = "sqlite",
): Promise<Result> {
  const { load, options } = setup;
  const flows = Array.from(
    { length: 1 + NORMAL_TENANTS },
    (_, at): Flow => ({ tenant: at + 1, app: "app", type: "issues" }),
  );
  const name = `${backend}, ${replicas} ${replicas === 1 ? "replica" : "replicas"}`;
  return withHubs(setup, flows, { replicas, backend }, async (hubs) => {
    const count = options.quick ? 40 : 100;
    const measureNormal = async (phase: string): Promise<Durations> => {
      options.reportProgress(`stalls: flood: ${name}: ${phase}`);
      const durations = await Promise.all(
        flows.slice(1).map(async (flow, at) => {
          await until(performance.now() + at * 11);
          const id = hubs.flowIds[at + 1] as string;
          return startAtRate(hubs, { flow, id, count, rate: 10 });
        }),
      );
      return {
        p50: median(durations.map(({ p50 }) => p50)),
        p99: Math.max(...durations.map(({ p99 }) => p99)),
        max: Math.max(...durations.map(({ max }) => max)),
      };
    };
    await measureNormal("warm-up");
    const alone = await measureNormal("alone");
    const seconds = count / 10 + 4;
    const flood = load.run({
      ...signedWebhooks((hubs.hubs[0] as HubProcess).port, installationOf(1)),
      connections: 32,
      requests: FLOOD_PER_SECOND * seconds,
      seconds,
      rate: FLOOD_PER_SECOND,
    });
    await until(performance.now() + 2_000);
    const beside = await measureNormal("beside a flood");
    const { accepted, completed, failures, unanswered, perSecond } = await flood;
    const ratio = beside.p99 / alone.p99;
    return {
      tables: [
        {
          title: `One tenant starts ${figure(perSecond)} runs per second: milliseconds from the start of a run of nine other tenants to its end (${name})`,
          text: table(
            ["nine tenants, 10 runs per second each", "p50", "p99", "max"],
            [
              ["alone", ...cells(alone)],
              ["beside the flood", ...cells(beside)],
            ],
          ),
        },
      ],
      goals: [
        {
          what: `Nine tenants beside a flood (${name}): p99 at most 2× of that alone`,
          isMet: ratio <= 2,
          result: times(ratio),
        },
      ],
      // Three replicas on a small machine accept fewer webhooks than the flood has: the last ones wait.
      isValid: accepted === completed && failures === unanswered,
      data: { backend, replicas, alone, beside, perSecond },
    };
  });
}
