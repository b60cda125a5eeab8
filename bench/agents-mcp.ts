/**
 * MCP calls with a small and a large backlog, compared with a minimal server of the same SDK. CPU is
 * measured at concurrency 16, latency at concurrency 1.
 */
import { type AgentHub, startAgentHub } from "./agent-hub.ts";
import { startBaseline } from "./baseline-process.ts";
import type { Goal, Options, Result } from "./benchmark.ts";
import { startFlags } from "./hub-process.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import type { Load } from "./load-process.ts";
import { recordCall, type ToolCall, toTemplates } from "./mcp-requests.ts";
import { cpuSeconds } from "./process-stats.ts";
import { signedWebhooks } from "./signed-webhooks.ts";
import { median, type Spread, spread } from "./statistics.ts";
import { figure, percent, range, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const CONCURRENCIES = [1, 16];
const GOAL_RATIO = 1.5;
/** Number of 10 KB events that `get_event` reads, round-robin. */
const LARGE_EVENTS = 100;
/** High enough that each round ends by time. */
const MAX_CALLS = 100_000;

/** One tool call on one server, sent repeatedly. */
interface Caller {
  name: string;
  pending: number | undefined;
  pid: number;
  plan: Pick<LoadPlan, "port" | "templates">;
  /** Throws when the call fails, because an error response would be fast. */
  check(): Promise<void>;
}

interface Round extends LoadReport {
  serverCpuSeconds: number;
}

interface Line {
  call: string;
  pending: number | undefined;
  concurrency: number;
  /** CPU time of the server in microseconds per call. */
  cpu: Spread;
  perSecond: number;
  p50: number;
  p99: number;
  /** Relative to the baseline in the same round. */
  ratio: { cpu: number; p50: number };
  /** CPU time of the load generator, relative to the server's. */
  loadShare: number;
  rounds: Round[];
}

export async function measureMcp(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, reportProgress } = options;
  const targets: Target[] = [];
  const callers: Caller[] = [];
  const lines: Line[] = [];
  try {
    const baseline = await startBaseline(
      new URL("./mcp-baseline.ts", import.meta.url),
      startFlags(),
    );
    targets.push(baseline);
    callers.push(await createCaller(baseline, "none", { name: "empty", arguments: {} }));
    for (const pending of [1_000, quick ? 100_000 : 1_000_000]) {
      reportProgress(`agents: mcp: seeding ${figure(pending)} pending events`);
      const hub = await startAgentHub({ cli, name: "hub", pending });
      targets.push(hub);
      callers.push(...(await inboxCallers(hub, load, pending)));
    }
    for (const caller of callers) {
      reportProgress(`agents: mcp: warm-up of ${caller.name}`);
      // The number of calls decides when code is compiled, so the warm-up counts calls.
      await callMany(load, caller, { connections: 16, requests: 4_000, seconds: quick ? 6 : 15 });
    }
    for (const connections of CONCURRENCIES) {
      const measured = new Map<Caller, Round[]>(callers.map((caller) => [caller, []]));
      for (let round = 1; round <= (quick ? 3 : 7); round += 1)
        for (const [caller, rounds] of measured) {
          reportProgress(`agents: mcp: concurrency ${connections}: round ${round}, ${caller.name}`);
          const shape = { connections, requests: MAX_CALLS, seconds: quick ? 1.5 : 3 };
          rounds.push(await callMany(load, caller, shape));
        }
      lines.push(...summarize(measured, connections));
    }
    for (const { check } of callers) await check();
  } finally {
    for (const target of targets) await target.stop();
  }
  return toResult(lines);
}

async function createCaller(
  { port, pid }: Target,
  token: string,
  call: ToolCall,
  {
    pending,
    argumentLists = [call.arguments],
  }: { pending?: number; argumentLists?: ToolCall["arguments"][] } = {},
): Promise<Caller> {
  const maxConnections = Math.max(...CONCURRENCIES);
  const recorded = await recordCall(port, token, call);
  // At least one template per connection: the load generator's connections do not share templates.
  const repeatedLists = Array.from(
    { length: Math.max(maxConnections, argumentLists.length) },
    (_, at) => argumentLists[at % argumentLists.length],
  );
  return {
    name: call.name,
    pending,
    pid,
    plan: { port, templates: toTemplates(recorded, repeatedLists as ToolCall["arguments"][]) },
    async check() {
      for (const args of argumentLists) await recordCall(port, token, { ...call, arguments: args });
    },
  };
}

async function inboxCallers(hub: AgentHub, load: Load, pending: number): Promise<Caller[]> {
  const shape = { connections: 8, requests: 512, seconds: 60, rate: undefined };
  const { isValid } = await load.run({ ...signedWebhooks(hub.port), ...shape });
  if (!isValid) throw new Error("the hub did not store the events");
  const response = await fetch(
    `http://127.0.0.1:${hub.port}/pending-events?limit=${LARGE_EVENTS}`,
    { headers: { authorization: `Bearer ${hub.token}` } },
  );
  const events = (await response.json()) as { id: string }[];
  const argumentLists = events.map(({ id }) => ({ event_id: id }));
  return [
    await createCaller(hub, hub.token, { name: "get_pending_status", arguments: {} }, { pending }),
    await createCaller(
      hub,
      hub.token,
      { name: "get_event", arguments: argumentLists[0] as ToolCall["arguments"] },
      { pending, argumentLists },
    ),
  ];
}

async function callMany(
  load: Load,
  { pid, plan }: Caller,
  shape: Pick<LoadPlan, "connections" | "requests" | "seconds">,
): Promise<Round> {
  const before = cpuSeconds(pid);
  const report = await load.run({ ...plan, ...shape, rate: undefined });
  return { ...report, serverCpuSeconds: cpuSeconds(pid) - before };
}

const cpuMicros = ({ serverCpuSeconds, completed }: Round) => (serverCpuSeconds / completed) * 1e6;

function summarize(measured: Map<Caller, Round[]>, concurrency: number): Line[] {
  const [baseline = []] = measured.values();
  return [...measured].map(([{ name, pending }, rounds]) => {
    const ratio = (value: (round: Round) => number) =>
      median(rounds.map((round, at) => value(round) / value(baseline[at] as Round)));
    return {
      call: pending === undefined ? "baseline: an empty tool" : name,
      pending,
      concurrency,
      cpu: spread(rounds.map(cpuMicros)),
      perSecond: median(rounds.map(({ perSecond }) => perSecond)),
      p50: median(rounds.map(({ latency }) => latency.p50)),
      p99: median(rounds.map(({ latency }) => latency.p99)),
      ratio: { cpu: ratio(cpuMicros), p50: ratio(({ latency }) => latency.p50) },
      loadShare: median(
        rounds.map(({ cpuSeconds, serverCpuSeconds }) => cpuSeconds / serverCpuSeconds),
      ),
      rounds,
    };
  });
}

function toResult(lines: Line[]): Result {
  const problems = lines.flatMap(({ call, rounds }) =>
    rounds
      .filter(({ isValid }) => !isValid)
      .map(({ statuses, failures }) => `${call}: ${JSON.stringify(statuses)}, ${failures} failed`),
  );
  return {
    tables: [
      {
        title: "MCP calls, protocol version 2026-07-28; get_event returns a payload of 10 KB",
        text: table(
          [
            "call",
            "pending",
            "concurrency",
            "CPU µs/call",
            "spread",
            "CPU / baseline",
            "p50 ms",
            "p99 ms",
            "p50 / baseline",
            "calls/s",
            "load/server CPU",
          ],
          lines.map((line) => [
            line.call,
            line.pending === undefined ? "" : figure(line.pending),
            String(line.concurrency),
            figure(line.cpu.median),
            range(line.cpu),
            times(line.ratio.cpu),
            figure(line.p50),
            figure(line.p99),
            times(line.ratio.p50),
            figure(line.perSecond),
            percent(line.loadShare),
          ]),
        ),
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: lines.filter(({ pending }) => pending !== undefined).map(goalOf),
    isValid: problems.length === 0,
    data: lines,
  };
}

/** Latency is compared at concurrency 1, CPU at concurrency 16. */
function goalOf({ call, pending, concurrency, ratio }: Line): Goal {
  const [measure, measuredRatio] =
    concurrency === 1 ? ["p50 latency", ratio.p50] : ["CPU", ratio.cpu];
  return {
    what: `${call} at ${figure(pending ?? 0)} pending: ${measure} at most ${GOAL_RATIO}× that of an empty tool`,
    isMet: measuredRatio <= GOAL_RATIO,
    result: times(measuredRatio),
  };
}
